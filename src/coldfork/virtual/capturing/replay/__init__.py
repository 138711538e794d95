"""Executing a captured graph, and explaining what its result rests on."""
