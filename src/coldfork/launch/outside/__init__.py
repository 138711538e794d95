"""Observe running Python processes from outside: nothing is stopped, and nothing runs inside them."""
