"""A server's own process, and the scripts that are forked from it: standard library only."""
