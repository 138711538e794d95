"""coldfork's graph manager beneath the runners of published engines."""
