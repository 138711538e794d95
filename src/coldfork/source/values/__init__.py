"""The possible values of names, and their conditions."""
