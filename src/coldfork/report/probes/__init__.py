"""What `coldfork probe` saw, in every format."""
