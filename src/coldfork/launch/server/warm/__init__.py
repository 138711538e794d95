"""Servers that have imported already what a script will import, kept ready between runs."""
