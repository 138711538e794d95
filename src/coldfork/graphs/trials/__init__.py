"""Trials of a captured graph: a replay beside a fresh eager run, each in a process of its own."""
