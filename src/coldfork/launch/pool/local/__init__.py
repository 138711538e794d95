"""Workers of a pool that are forked on this machine by a zygote, and the code that they run."""
