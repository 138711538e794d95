"""Examine forks: what the process holds, the purpose of the child, and what the child touches."""
