"""One module for each runtime: its state, told without initialising, loading or importing anything."""
