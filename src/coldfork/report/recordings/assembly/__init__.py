"""Reconstructs the lives of processes from the lines of a recording."""
