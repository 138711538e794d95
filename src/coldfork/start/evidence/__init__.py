"""The evidence for and against each start method, one module for each kind."""
