"""Find the modules that a server may import ahead of its workers: by reading, trying, and proof in forks."""
