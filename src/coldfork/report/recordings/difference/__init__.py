"""The differences between two recordings, in every format."""
