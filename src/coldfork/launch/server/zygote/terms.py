"""What a server that forks workers is asked to be, checked before one is started."""

from __future__ import annotations

import os
import sys

from coldfork.launch.plumbing.linux import kernel
from coldfork.launch.server.zygote.preload_list import ENDING, read
from coldfork.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

POLICIES = ("fail", "warn", "ignore")


def terms(preload: Sequence[str] | os.PathLike[str], on_error: str) -> dict[str, Any]:
    """What a server is asked to be, checked."""
    more: dict[str, Any] = {}
    if isinstance(preload, os.PathLike) or (isinstance(preload, str) and preload.endswith(ENDING)):
        listed = read(preload)
        preload = listed.modules
        more = {"variables": sorted(listed.variables), "seeds": list(listed.seeds)}
    if not kernel.supported() or not _has_process_descriptors():
        raise UsageError(f"a zygote needs Linux 5.4 or newer with /proc, and this is {sys.platform}")
    if isinstance(preload, str) or not all(isinstance(name, str) for name in preload):
        raise UsageError(f"preload is a list of modules by dotted name, or a file that ends with {ENDING}")
    if on_error not in POLICIES:
        known = ", ".join(f'"{name}"' for name in POLICIES)
        raise UsageError(f"there is no on_error {on_error!r}; it is one of {known}")
    return {"preload": list(preload), "on_error": on_error, "main": _main_file(), **more}


def _has_process_descriptors() -> bool:
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True


def _main_file() -> str | None:
    """The file of the caller's program, as multiprocessing would have it imported."""
    from multiprocessing import process

    path = getattr(sys.modules.get("__main__"), "__file__", None)
    original: str | None = process.ORIGINAL_DIR  # type: ignore[attr-defined]
    if path is not None and original is not None:
        path = os.path.join(original, path)
    return None if path is None else os.path.normpath(path)
