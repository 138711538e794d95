"""What a worker does before the function that it was started for."""
