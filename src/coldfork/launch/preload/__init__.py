"""Find what a server may import ahead of its workers: by reading, by trying, and by proof in forks."""
