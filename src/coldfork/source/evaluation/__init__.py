"""Follows the import of one module over abstract values, and records the devices that it wakes."""
