"""From findings to causes: which line each comes from, whom that line warms, and where to mend it."""
