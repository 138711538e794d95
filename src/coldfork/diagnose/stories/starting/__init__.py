"""Stories of processes that could not be started."""
