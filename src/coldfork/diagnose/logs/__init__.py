"""Reading logs: bytes -> lines of processes -> tracebacks, errors, dumps and notes."""
