"""The shapes of lines that wake a device: one module each, which drafts the replacement."""
