"""A survey of the newest releases of widely used packages: which of their modules wake a device on import."""
