"""The entry point of a check, shared by the command line, the doctor and other programs."""
