"""Reports on the differences between two recordings, in every format."""
