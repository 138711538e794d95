"""Forks: what they are for, and what they do to a child."""
