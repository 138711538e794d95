"""Fixes: drafted for the causes of a check, applied in memory, checked again, and written or shown."""
