"""Rules about how processes are started, and about decisions that come too late for them."""
