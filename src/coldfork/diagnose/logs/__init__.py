"""Reading logs: from bytes to lines of processes, tracebacks, errors, dumps and notes."""
