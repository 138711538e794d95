"""Follows the import of one module with abstract values, and records the devices that it wakes."""
