"""Detection of leaks from a warm-up into a captured graph, through Python values or memory."""
