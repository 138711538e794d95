"""Derives causes from findings: the line each finding comes from, and the modules that this line wakes."""
