"""Shared parts of all report formats: characters, colours, progress, options."""
