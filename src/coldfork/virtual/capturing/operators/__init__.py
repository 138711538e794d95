"""The effect of an operator on its arguments, and the form of its results."""
