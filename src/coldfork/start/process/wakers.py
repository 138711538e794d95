"""Who woke what in this process, as far as it was watched; a forked child knows its parent's wakers too."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from coldfork.model.states import Waker


class Wakers:
    """Keeps what a watch tells: `coldfork.observe.watch(WAKERS.heard)` fills it."""

    def __init__(self) -> None:
        self._told: dict[str, Mapping[str, Any]] = {}

    def heard(self, event: Mapping[str, Any]) -> None:
        """Take note of an event of a watch; of two wakes of one accelerator the first counts."""
        if event.get("event") == "wake":
            self._told.setdefault(event["accelerator"], event["waker"])

    @property
    def count(self) -> int:
        """How many wakes have been heard of; what was said without them may name too few."""
        return len(self._told)

    def of(self, accelerator: str) -> Waker | None:
        """Who woke this accelerator, here or in the process this one was forked from; None if nobody saw."""
        told = self._told.get(accelerator)
        return None if told is None else _waker(told)


def _waker(told: Mapping[str, Any]) -> Waker:
    from coldfork.model.states import Frame, ImportSite, Waker

    return Waker(
        module=told["module"],
        path=told["path"],
        line=told["line"],
        function=told["function"],
        call=told["call"],
        thread=told["thread"],
        import_chain=tuple(
            ImportSite(site["module"], site["path"], site["line"]) for site in told["import_chain"]
        ),
        stack=tuple(Frame(frame["path"], frame["line"], frame["function"]) for frame in told["stack"]),
    )


# One for the process, as a process has one driver.
WAKERS = Wakers()
