"""The values that names may have, and the conditions of each."""
