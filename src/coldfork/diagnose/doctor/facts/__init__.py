"""The checks' view of the machine, obtained without waking a device."""
