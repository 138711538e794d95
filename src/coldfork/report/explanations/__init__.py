"""What `coldfork explain` says: text for people, JSON for programs, Markdown for a bug report."""
