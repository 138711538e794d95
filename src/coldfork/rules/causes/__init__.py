"""From findings to causes: the line each comes from, the modules that line wakes, and where to mend it."""
