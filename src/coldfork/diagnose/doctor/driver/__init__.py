"""Checks of the driver, its devices and everything between them and this process."""
