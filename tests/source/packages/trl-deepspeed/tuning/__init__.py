"""Tunes models by preference."""
