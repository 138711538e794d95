"""Decide how this process may start another: the evidence, the policy, and the reasons."""
