"""Which process is which, who started it, and how it ended, as the kernel tells it."""
