"""What code around a capture looked at and kept, so that two runs of the same code can be compared."""
