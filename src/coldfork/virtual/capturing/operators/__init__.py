"""What operators do to their arguments, and the form of their results."""
