"""Stories of devices, drivers and builds."""
