"""The shapes of lines that wake a device, one module each, and their replacements."""
