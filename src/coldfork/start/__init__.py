"""Decide how this process may start another one: evidence, policy, and the decision with its reasons."""
