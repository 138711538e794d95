"""The virtual device as torch sees it: what is filled in where torch would ask CUDA."""
