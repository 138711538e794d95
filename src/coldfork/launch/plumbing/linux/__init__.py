"""Calls of the C library and the kernel that Python does not offer."""
