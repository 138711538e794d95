"""Evaluates expressions to abstract values."""
