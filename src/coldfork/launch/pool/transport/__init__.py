"""How tasks, results and errors get from one process to another."""
