"""Rules of Python that both evaluators share: method resolution order, argument binding, `match`."""
