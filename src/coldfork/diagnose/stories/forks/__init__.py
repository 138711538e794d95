"""Stories about processes that were forked from one whose state they cannot use."""
