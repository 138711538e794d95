"""What a server may import ahead of its workers: found by reading, by trying, and proven in forks."""
