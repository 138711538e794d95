"""Devices that exist only for their initialisation, so that it can be tested without a GPU."""
