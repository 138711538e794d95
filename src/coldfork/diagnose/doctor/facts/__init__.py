"""The facts about the machine that checks examine, obtained without waking a device."""
