"""Checks of Python and of how it starts."""
