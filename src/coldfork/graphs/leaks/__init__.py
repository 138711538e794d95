"""What a captured graph took over from its warm-up: values by path, memory by who wrote it."""
