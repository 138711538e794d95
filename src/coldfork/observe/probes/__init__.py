"""One module for each runtime: find out its state without initialising, loading or importing anything."""
