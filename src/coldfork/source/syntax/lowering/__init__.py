"""Turns Python's syntax trees into the nodes that both evaluators follow."""
