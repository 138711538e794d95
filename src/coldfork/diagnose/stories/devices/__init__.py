"""Stories about devices, drivers and builds."""
