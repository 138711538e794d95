"""Runs statements, with their effects on names and devices."""
