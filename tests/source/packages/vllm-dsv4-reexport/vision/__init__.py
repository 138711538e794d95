"""A vision engine."""
