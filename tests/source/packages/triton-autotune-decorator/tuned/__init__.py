"""Kernels with tuned sizes."""
