"""Finding modules, reading them, and caching the results on disk."""
