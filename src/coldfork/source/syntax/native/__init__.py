"""Functions that are compiled if a C compiler is available, each with an equivalent in Python."""
