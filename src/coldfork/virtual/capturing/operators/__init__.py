"""What an operator does to its arguments, and what its results look like."""
