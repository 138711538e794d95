"""The virtual device as torch sees it: replacements for functions that would ask CUDA."""
