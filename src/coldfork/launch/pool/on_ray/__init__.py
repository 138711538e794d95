"""Workers of a pool that are actors of Ray, on the nodes of its cluster."""
