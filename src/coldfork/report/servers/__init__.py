"""What `coldfork warm status` prints."""
