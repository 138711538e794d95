"""What is known of objects: their attributes, their items, and how they compare."""
