"""What is kept of isolated scripts: their folders, their output, and for how long."""
