"""The output of `coldfork preload`: one module for each format, and the list itself."""
