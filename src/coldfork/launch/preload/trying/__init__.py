"""The code of processes that try imports, which uses only the standard library beside the tried modules."""
