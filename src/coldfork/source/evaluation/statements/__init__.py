"""The effects of statements on names."""
