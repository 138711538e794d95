"""Control flow: branches, truth tests, handlers, and the narrowing of values."""
