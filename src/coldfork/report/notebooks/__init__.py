"""What notebooks show of states and decisions."""
