"""The facts about the machine that the checks examine, gathered without waking a device."""
