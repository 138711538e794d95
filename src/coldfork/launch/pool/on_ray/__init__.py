"""Workers of a pool that are Ray actors, on the nodes of a cluster."""
