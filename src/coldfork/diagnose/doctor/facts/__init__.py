"""What the checks see of the machine, and nothing that wakes a device."""
