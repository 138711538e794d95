"""Stories about processes that could not be started."""
