"""Devices that a user's processes on one host take for themselves, and give back even when killed."""
