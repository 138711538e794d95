"""Python's syntax trees, made into the nodes that both evaluators follow."""
