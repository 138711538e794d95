"""Published packages on this machine: their sources from the index, and environments that hold them."""
