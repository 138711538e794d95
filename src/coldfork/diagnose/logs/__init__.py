"""Reads logs: turns bytes into lines of processes, tracebacks, errors, stack dumps and notes."""
