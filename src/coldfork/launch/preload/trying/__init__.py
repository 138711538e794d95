"""What runs in the processes that try imports: the standard library alone, beside what is tried."""
