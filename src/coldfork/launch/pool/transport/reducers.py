"""How objects of some classes are taken apart, beside what `pickle` knows by itself."""

from __future__ import annotations

import copyreg
from functools import cache
from multiprocessing.reduction import ForkingPickler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_OPEN = ("multiprocessing.connection", "socket", "_socket")
"""Where the classes stand whose objects are open here, and are opened there by what multiprocessing knows.

It knows what to do with tensors as well, once torch has told it: to share their memory with the caller.
They are copied here, as everything else is.
"""


def reducers() -> dict[type, Callable[[Any], Any]]:
    """How objects of some classes are taken apart."""
    known = ForkingPickler._extra_reducers  # type: ignore[attr-defined]
    return _joined(len(copyreg.dispatch_table), len(known))


@cache
def _joined(_generally: int, _to_processes: int) -> dict[type, Callable[[Any], Any]]:
    """Anew when there are more of them: joining them for each value would take longer than pickling it."""
    known: dict[type, Callable[[Any], Any]] = ForkingPickler._extra_reducers  # type: ignore[attr-defined]
    return {**copyreg.dispatch_table, **{each: known[each] for each in known if each.__module__ in _OPEN}}
