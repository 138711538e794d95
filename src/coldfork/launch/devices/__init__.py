"""Find devices, tell which of them a process sees, and lease them; nothing here wakes one."""
