"""Caps on what a tree of processes may use: sizes as people write them, what is used, and what watches."""
