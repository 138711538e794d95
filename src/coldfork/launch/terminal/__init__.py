"""Programs in the foreground of a terminal: signals, Ctrl-C and Ctrl-Z."""
