"""Checks of what the system lets processes have."""
