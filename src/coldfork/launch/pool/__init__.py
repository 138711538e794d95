"""Run tasks on warm workers; each task fails by itself, and its caller is told how it ended."""
