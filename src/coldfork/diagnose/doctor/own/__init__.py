"""Checks of coldfork's own installation, recordings and abilities."""
