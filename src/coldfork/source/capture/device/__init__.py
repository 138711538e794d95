"""What captured code asks of the device, and what of it depends on the batch."""
