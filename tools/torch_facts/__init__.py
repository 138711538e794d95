"""The effects of torch on a device, worked out from its published sources."""
