"""What a forward pass is fed with, runs under and hands out."""
