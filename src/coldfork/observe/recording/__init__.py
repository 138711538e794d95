"""Write recordings: events, their lines, and the removal of secrets."""
