"""Tasks on warm workers: each fails alone, and what became of it is said."""
