"""Which devices there are, which of them a process sees, and leases on them; nothing here wakes one."""
