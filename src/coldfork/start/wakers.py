"""The wakers that this process's watch has seen; a forked child also has those of its parent."""

from __future__ import annotations

from coldfork.observe.late_imports import LATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from coldfork.model.states import Waker


class Wakers:
    """A record of the wakers that a watch reports; `coldfork.observe.watch(WAKERS.heard)` fills it."""

    def __init__(self) -> None:
        self._by_accelerator: dict[str, Mapping[str, Any]] = {}

    def heard(self, event: Mapping[str, Any]) -> None:
        """Record an event of a watch; only the first wake of each accelerator counts."""
        if event.get("event") == "wake":
            self._by_accelerator.setdefault(event["accelerator"], event["waker"])

    @property
    def count(self) -> int:
        """Return how many wakes were reported: if it has risen, an earlier message may lack a waker."""
        return len(self._by_accelerator)

    def of(self, accelerator: str) -> Waker | None:
        """Return the waker of this accelerator, in this process or its parent; None if it was not seen."""
        waker = self._by_accelerator.get(accelerator)
        return None if waker is None else _waker(waker)


def _waker(waker: Mapping[str, Any]) -> Waker:
    LATE.load("coldfork.model.states")
    from coldfork.model.states import Frame, ImportSite, Waker

    return Waker(
        module=waker["module"],
        path=waker["path"],
        line=waker["line"],
        function=waker["function"],
        call=waker["call"],
        thread=waker["thread"],
        import_chain=tuple(
            ImportSite(site["module"], site["path"], site["line"]) for site in waker["import_chain"]
        ),
        stack=tuple(Frame(frame["path"], frame["line"], frame["function"]) for frame in waker["stack"]),
    )


# Shared by the whole process, which has only one driver.
WAKERS = Wakers()
