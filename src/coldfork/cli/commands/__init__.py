"""One module for each command: parse, call, exit status."""
