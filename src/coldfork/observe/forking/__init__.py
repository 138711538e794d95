"""Examine a fork: what the process holds, what the child is for, and what it then touches."""
