"""Fixes: drafted for the causes of a check, applied in memory, checked again, then written or shown."""
