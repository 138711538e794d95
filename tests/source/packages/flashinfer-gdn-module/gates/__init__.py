"""Gated kernels; the root imports none of them."""
