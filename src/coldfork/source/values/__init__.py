"""What a name may hold, and under which conditions."""
