"""What coldfork claims about real devices, checked on one: `python hardware/validate.py`."""
