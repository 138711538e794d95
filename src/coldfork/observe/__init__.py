"""What happens to accelerators inside a running program: standard library only, never raises into it."""
