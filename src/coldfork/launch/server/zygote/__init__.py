"""A clean, preloaded process that forks workers on request: standard library only."""
