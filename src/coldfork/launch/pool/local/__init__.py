"""Workers of a pool that are processes of this machine, forked by a zygote, and the code they run."""
