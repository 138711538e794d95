"""Has a process read what a function does, and keeps what it says until one of the files changes."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from coldfork import __version__
from coldfork.observe.forking.other_process import ask
from coldfork.observe.kept_files import KeptFile, digest

if TYPE_CHECKING:
    from collections.abc import Iterable

    Touches = list[dict[str, Any]]


def touches(question: str, deadline: float) -> Touches:
    """What the function is certain to touch; nothing where that could not be found out in time."""
    kept = KeptFile.of("bodies", digest((question, *sys.version_info, __version__)))
    known = kept.read()
    if known is not None and known.get("stamp") == _stamp(known.get("files", ())):
        return list(known["touches"])
    said = _asked(question, deadline)
    if said is None:
        return []
    answer = json.loads(said)
    found = list(answer.get("touches", ()))
    if "files" in answer:
        kept.write({"touches": found, "files": answer["files"], "stamp": _stamp(answer["files"])})
    return found


def _asked(question: str, deadline: float) -> str | None:
    if not sys.executable:
        return None
    answered = ask([sys.executable, "-P", "-m", "coldfork.source.bodies"], question, deadline)
    if answered is None:
        return None
    status, said, _ = answered
    return None if status else said


def _stamp(files: Iterable[str]) -> str:
    """What changes with the files that were read."""
    return digest(tuple((file, *_times(file)) for file in sorted(files)))


def _times(file: str) -> tuple[int, int]:
    try:
        status = os.stat(file)
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size
