"""Mutation testing: change one line, run the tests that run it, and see whether one of them notices."""
