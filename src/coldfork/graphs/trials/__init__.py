"""Trials of a captured graph: replays compared with fresh eager runs, each in its own process."""
