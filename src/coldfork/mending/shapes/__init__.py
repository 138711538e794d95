"""The shapes of lines that wake a device, one module each, and what is written in their place."""
