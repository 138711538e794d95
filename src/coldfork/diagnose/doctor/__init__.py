"""Checks whether this machine and environment are fit. Each check has one name and one module."""
