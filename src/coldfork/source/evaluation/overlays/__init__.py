"""Models of functions of the standard library, one file for each group of modules."""
