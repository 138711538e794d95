"""What an isolated script's own interpreter does: standard library only."""
