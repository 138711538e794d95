"""Syntax newer than the running Python: rewritten, in the same columns, into syntax that `ast` can parse."""
