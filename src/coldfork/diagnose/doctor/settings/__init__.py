"""Checks of environment variables, each alone and in combination."""
