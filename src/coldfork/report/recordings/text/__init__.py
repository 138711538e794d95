"""A recording in the terminal."""
