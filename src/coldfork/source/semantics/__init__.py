"""Python's own rules, which both evaluators ask: the order of methods, the binding of arguments, `match`."""
