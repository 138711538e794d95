"""Where modules are, how they are read, and what is remembered of them on disk."""
