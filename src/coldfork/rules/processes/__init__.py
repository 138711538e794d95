"""Rules about how processes are started, and about what is decided too late for them."""
