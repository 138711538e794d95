"""What `coldfork ps` says of running processes, one module for each format."""
