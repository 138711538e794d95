"""Calls of the C library and the kernel, made by hand: Python does not offer them."""
