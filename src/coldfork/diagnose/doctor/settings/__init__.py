"""Checks of environment variables, alone and against each other."""
