"""Checks of installed packages against each other, against torch and against the driver."""
