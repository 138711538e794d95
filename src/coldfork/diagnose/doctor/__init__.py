"""Whether this machine and this environment are fit: one check = one module = one name."""
