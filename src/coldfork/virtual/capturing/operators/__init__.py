"""The effects of operators on their arguments, and the form of their results."""
