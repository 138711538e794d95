"""What happens to accelerators inside a running program. Standard library only; nothing here raises into it."""
