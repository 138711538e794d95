"""The virtual device as torch sees it, by replacements for functions that would ask CUDA."""
