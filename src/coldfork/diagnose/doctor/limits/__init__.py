"""Checks of the limits that the system sets on processes."""
