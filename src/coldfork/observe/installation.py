"""Where coldfork is installed, and tests of whether code is installed or the program's own."""

from __future__ import annotations

import os

ROOT = os.path.abspath(__file__).rsplit(os.sep, 3)[0]
"""The folder that contains the package, where a new interpreter finds the same version."""
_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_LIBRARY = os.path.dirname(os.__file__) + os.sep


def is_of_a_package(file: str) -> bool:
    """Return whether a file is code of an installed package."""
    return any(folder in file for folder in _PACKAGES)


def is_of_the_library(file: str) -> bool:
    """Return whether a file is code of the standard library."""
    return file.startswith((_LIBRARY, "<frozen ")) and not is_of_a_package(file)
