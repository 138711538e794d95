"""Syntax newer than the running Python: rewritten to the same columns before `ast` reads it."""
