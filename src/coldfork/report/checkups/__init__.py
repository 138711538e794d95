"""The output of `coldfork doctor`: text for people, JSON for programs, Markdown for a bug report."""
