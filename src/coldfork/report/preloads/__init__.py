"""What `coldfork preload` says of a list, one module for each format, and the list itself."""
