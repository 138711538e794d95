"""What torch does to a device, worked out from its published sources."""
