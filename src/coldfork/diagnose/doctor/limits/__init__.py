"""Checks of the limits that the system sets for processes."""
