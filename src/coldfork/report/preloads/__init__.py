"""The output of `coldfork preload`: one module for each format; the text format prints the list itself."""
