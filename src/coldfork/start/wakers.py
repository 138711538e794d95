"""Who woke what in this process, as far as it was watched; a forked child knows its parent's wakers too."""

from __future__ import annotations

from coldfork.observe.late_imports import LATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from coldfork.model.states import Waker


class Wakers:
    """Keeps what a watch reports: `coldfork.observe.watch(WAKERS.heard)` fills it."""

    def __init__(self) -> None:
        self._by_accelerator: dict[str, Mapping[str, Any]] = {}

    def heard(self, event: Mapping[str, Any]) -> None:
        """Take note of a watch's event; of two wakes of one accelerator the first counts."""
        if event.get("event") == "wake":
            self._by_accelerator.setdefault(event["accelerator"], event["waker"])

    @property
    def count(self) -> int:
        """Return how many wakes were reported; statements made before the latest may name too few."""
        return len(self._by_accelerator)

    def of(self, accelerator: str) -> Waker | None:
        """Return who woke this accelerator, here or in the process that forked this one; None if unseen."""
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


# One for the process, as a process has one driver.
WAKERS = Wakers()
