"""Makes a remedy exact where the process shows how, and leaves out one that this process does not have."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from coldfork.model.decisions import Reason
    from coldfork.observe.probes.loader import Loader

_PAUSE = "omp_pause_resource_all"
_HARD = 2
"""`omp_pause_hard` of omp.h: the threads are given back too."""


def exact(reasons: tuple[Reason, ...], loader: Callable[[], Loader]) -> tuple[Reason, ...]:
    """The reasons with what can be done about them here."""
    return tuple(_exact(reason, loader) for reason in reasons)


def _exact(reason: Reason, ask: Callable[[], Loader]) -> Reason:
    library = dict(reason.evidence).get("library")
    if library is None or not any(_PAUSE in remedy for remedy in reason.remedies):
        return reason
    loader = ask()
    remedies = []
    for remedy in reason.remedies:
        if _PAUSE not in remedy:
            remedies.append(remedy)
        elif _has(library, loader):
            call = f'ctypes.CDLL("{library}").{_PAUSE}({_HARD})'
            remedies.append(f"have libgomp give its pool back, in this thread, before the fork: {call}")
    return replace(reason, remedies=tuple(remedies))


def _has(library: str, loader: Loader) -> bool:
    """Whether the library, which is loaded, has the function: those of GCC 8 and before do not."""
    handle = loader.handle(library.encode("utf-8", "surrogateescape"))
    return (
        handle is not None
        and loader.function(handle, _PAUSE.encode("ascii"), loader.ctypes.c_int) is not None
    )
