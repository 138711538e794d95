"""Code that all report formats share: characters, colours, progress, options."""
