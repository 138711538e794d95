"""What runs in a worker of a pool. STANDARD LIBRARY ONLY."""
