"""Programs: the modules that are started, and what becomes of the processes that they start."""
