"""Processes that run, as they are seen from outside."""
