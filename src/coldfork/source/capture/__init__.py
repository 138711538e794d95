"""Follows the code that CUDA graphs capture, over objects that have an identity."""
