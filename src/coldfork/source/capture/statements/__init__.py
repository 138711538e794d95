"""Statements of code around and inside a capture."""
