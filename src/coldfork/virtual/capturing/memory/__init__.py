"""The memory of captured graphs: whose it is, and what was never written."""
