"""Servers that have imported what a process needs, are clean, and fork a process whenever one is wanted."""
