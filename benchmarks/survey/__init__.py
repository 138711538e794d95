"""A survey of the newest releases of much used packages: which of their modules wake a device on import."""
