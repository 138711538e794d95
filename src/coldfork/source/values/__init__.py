"""The values that names may have, each with its condition."""
