"""The code of the processes that try imports: only the standard library, beside what is tried."""
