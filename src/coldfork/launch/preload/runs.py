"""Starts the processes that try imports, and reads what they have told."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coldfork.launch.probe.trial import ProbeSetup
from coldfork.launch.server.variables import while_importing
from coldfork.launch.watched_process import Ended, environment, until_its_end
from coldfork.observe.recording import events

_PROGRAM = "from coldfork.launch.preload.trying.main import main; main()"
_FORKED_CHILD_SECONDS = 20.0
"""So long a forked child may take for what it tries."""

Event = Mapping[str, Any]
Hear = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Run:
    """What one process and its children have told, and how it ended."""

    told: tuple[Event, ...]
    ended: Ended

    def of(self, *kinds: str) -> list[Event]:
        """What was told of these kinds, in order."""
        return [event for event in self.told if event.get("event") in kinds]

    def last(self, kind: str) -> Event | None:
        """The last of a kind."""
        found = self.of(kind)
        return found[-1] if found else None


def run(
    task: str, setup: ProbeSetup, seconds: float, hear: Hear, stop: Callable[[], bool], **more: Any
) -> Run:
    """Have a fresh interpreter do a task, for so many seconds at most; `hear` is told as it goes on."""
    with tempfile.TemporaryDirectory(prefix="coldfork-preload-") as folder:
        result = Path(folder, "result")
        result.touch(mode=0o600)
        settings = {
            "mode": "preload",
            "task": task,
            "result": str(result),
            "patience": setup.timeout,
            "limit": min(_FORKED_CHILD_SECONDS, setup.timeout),
            "device": f"virtual:{setup.virtual}" if setup.virtual else "real",
            **more,
        }
        reader = _Reader(result, hear)

        def look() -> bool:
            reader.look()
            return stop()

        with reader:
            ended = until_its_end(
                [setup.python, "-c", _PROGRAM],
                environment(
                    settings,
                    while_importing(setup.base),
                    virtual=setup.virtual,
                    before=setup.before,
                    after=setup.after,
                ),
                timeout=seconds,
                stop=look,
            )
            reader.look()
        return Run(tuple(reader.told), ended)


class _Reader:
    """Reads a file of events while it grows."""

    def __init__(self, path: Path, hear: Hear) -> None:
        self._stream = path.open("rb")
        self._hear = hear
        self._rest = b""
        self.told: list[Event] = []

    def look(self) -> None:
        *lines, self._rest = (self._rest + self._stream.read()).split(b"\n")
        for line in lines:
            event = events.decode(line.decode("ascii"))
            self.told.append(event)
            self._hear(event)

    def __enter__(self) -> _Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
