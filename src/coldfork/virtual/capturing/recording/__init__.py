"""Recording operators instead of executing them."""
