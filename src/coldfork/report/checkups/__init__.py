"""What `coldfork doctor` says: text for people, JSON for programs, Markdown for a bug report."""
