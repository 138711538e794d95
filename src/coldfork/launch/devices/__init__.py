"""Find devices, tell which of them a process sees, and lease them. Nothing here wakes a device."""
