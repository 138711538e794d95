"""Trials of a captured graph: comparisons of its replays with fresh eager runs, in separate processes."""
