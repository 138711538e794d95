"""The server's own process, which imports and forks."""
