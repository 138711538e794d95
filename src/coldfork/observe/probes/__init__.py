"""One module for each runtime: its state, found out without initialising, loading or importing anything."""
