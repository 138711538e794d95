"""Checks of the driver, its devices and what stands between them and this process."""
