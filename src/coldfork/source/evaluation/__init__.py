"""Follows the import of one module over abstract values, and records what it wakes."""
