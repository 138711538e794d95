"""What a statement does to the names around it."""
