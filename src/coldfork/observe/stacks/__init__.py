"""The stacks of threads: which import and which call stands on them."""
