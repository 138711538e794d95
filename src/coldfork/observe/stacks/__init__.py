"""The stacks of threads, and which imports and calls are on them."""
