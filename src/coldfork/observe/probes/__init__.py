"""The state of each runtime, found out without initialising, loading or importing anything."""
