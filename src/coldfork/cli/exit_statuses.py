"""The exit statuses that several commands share."""

FINDINGS = 1
"""What was looked for was found."""
ERROR = 2
"""The command could not do its work."""
INTERRUPTED = 130
"""What a shell says of a program that Ctrl-C ended."""
