"""What `coldfork check` found, in every format."""
