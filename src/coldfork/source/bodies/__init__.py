"""What calling one function does to accelerators, in a process whose variables are known."""
