"""A speech engine whose mixer decides in a class body how it may be recorded."""
