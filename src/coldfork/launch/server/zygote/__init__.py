"""A clean process with preloaded modules, which forks workers on request, using only the standard library."""
