"""gunicorn's configuration without coldfork: nothing is set here."""

from __future__ import annotations
