"""A clean process with preloaded modules that forks workers on request; it uses only the standard library."""
