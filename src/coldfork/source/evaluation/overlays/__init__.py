"""Models of functions of the standard library, one module for each group of its modules."""
