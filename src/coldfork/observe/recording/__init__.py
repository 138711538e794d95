"""Recordings as they are written: events, lines, and no secret in them."""
