"""Syntax that is newer than the Python that runs: rewritten to the same columns before `ast` reads it."""
