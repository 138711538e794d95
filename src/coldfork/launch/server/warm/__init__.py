"""Servers that have already imported what a script will import, kept ready between runs."""
