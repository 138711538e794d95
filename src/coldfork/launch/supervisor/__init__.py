"""The small process between a caller and a script, which uses only the standard library."""
