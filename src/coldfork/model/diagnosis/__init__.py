"""What is said about a log."""
