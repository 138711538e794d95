"""The entry point of a check, for the command line, for the doctor and for other programs."""
