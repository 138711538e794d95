"""The effect on accelerators of calling one function, in a process whose variables are known."""
