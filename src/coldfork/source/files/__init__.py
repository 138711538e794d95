"""Finds modules, reads them, and caches results on disk."""
