"""The commands, one module each: they parse options, call other packages and set the exit status."""
