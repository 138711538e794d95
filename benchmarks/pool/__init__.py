"""The worker pool beside its peers: what a task costs, and what a fault costs."""
