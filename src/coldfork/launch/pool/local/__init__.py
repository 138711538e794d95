"""Workers of a pool that are processes of this machine, forked by a zygote; and what runs in each of them."""
