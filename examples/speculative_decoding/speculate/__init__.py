"""A small speculative decoder whose graphs are captured through coldfork, in a worker that starts cold."""
