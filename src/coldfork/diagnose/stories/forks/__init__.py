"""Stories of processes that were forked from one whose state they cannot use."""
