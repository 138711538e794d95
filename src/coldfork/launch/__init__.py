"""Starts interpreters that are watched, and gathers what they report."""
