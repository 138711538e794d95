"""Which process is which, which started it, and how it ended, from the kernel."""
