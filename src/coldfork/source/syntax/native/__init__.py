"""Parts that are compiled if there is a C compiler, each with a twin in Python."""
