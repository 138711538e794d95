"""Checks of coldfork's claims about real devices, on one: `python hardware/validate.py`."""
