"""Which devices there are, and which of them a process sees; nothing here wakes one."""
