"""Where this installation of coldfork lies: what a new interpreter has to look in to import the same one."""

from __future__ import annotations

import os

ROOT = os.path.abspath(__file__).rsplit(os.sep, 3)[0]
"""The folder that holds the package."""
