"""The recording of operators in place of their execution."""
