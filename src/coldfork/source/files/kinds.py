"""Which files are Python source, and what to say of those that are not."""

from __future__ import annotations

import os

from coldfork.source.files.notebooks import SUFFIX as NOTEBOOK
from coldfork.source.files.reading import CannotRead, Reader

SOURCES = (".py", NOTEBOOK)
"""The files that a walk over a folder takes."""
_GIVEN = (*SOURCES, ".pyw")
_INSTEAD = {
    ".pyi": "a stub runs nothing when it is imported; check the module that it describes",
    ".pyx": "Cython source is not read; its compiled module is presumed to import and to wake nothing",
    ".pyc": "compiled code is not read; check the source that it was made from",
    ".whl": "a wheel is not read; unpack it (python -m zipfile -e FILE FOLDER) and check the folder",
    ".egg": "an egg is not read; unpack it (python -m zipfile -e FILE FOLDER) and check the folder",
    ".zip": "an archive is not read; unpack it (python -m zipfile -e FILE FOLDER) and check the folder",
    ".gz": "an archive is not read; unpack it (python -m tarfile -e FILE FOLDER) and check the folder",
    ".tar": "an archive is not read; unpack it (python -m tarfile -e FILE FOLDER) and check the folder",
    ".so": "a compiled module has no source to read",
    ".pyd": "a compiled module has no source to read",
    ".dylib": "a compiled module has no source to read",
}


def refusal(path: str, reader: Reader) -> str | None:
    """Why a file that was named is not checked; None for Python source."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix in _INSTEAD:
        return _INSTEAD[suffix]
    if not reader.is_regular(path):
        return "this is no regular file"
    if suffix in _GIVEN or (not suffix and _is_script(path, reader)):
        return None
    return "this is no Python source; modules (.py), notebooks (.ipynb), scripts and folders are checked"


def _is_script(path: str, reader: Reader) -> bool:
    """True for a file without suffix that asks for Python, or that stands in for one being written."""
    try:
        head = reader.read_bytes(path)[:200].partition(b"\n")[0]
    except CannotRead:
        return False
    return reader.is_overlaid(path) or (head.startswith(b"#!") and b"python" in head)
