"""The virtual device as torch sees it: replacements where torch would ask CUDA."""
