"""The shapes of lines that wake a device; the module of each drafts the replacement."""
