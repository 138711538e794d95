"""The stacks of threads: which imports and calls are on them."""
