"""Doors into other programs: pytest."""
