"""Python's own rules, shared by both evaluators: method order, argument binding, `match`."""
