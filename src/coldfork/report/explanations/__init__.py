"""The output of `coldfork explain`: text for people, JSON for programs, Markdown for a bug report."""
