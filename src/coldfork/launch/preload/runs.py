"""Start the processes that try imports, and turn their reports into results."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from coldfork.launch.plumbing.ask import Ended, environment, until_its_end
from coldfork.launch.probe.report_paths import Origins
from coldfork.launch.probe.trial import ProbeSetup
from coldfork.launch.server.variables import while_importing
from coldfork.model.preloads import Kept, LeftOut, Stain, VariableUse
from coldfork.observe.recording import events

_PROGRAM = "from coldfork.launch.preload.trying.main import main; main()"
_FORKED_CHILD_SECONDS = 20.0
"""How long a forked child may take for its trials."""

Event = Mapping[str, Any]
Generator = tuple[str | None, str, str]
"""A source of random numbers: its module, its name in that module, and its kind."""


def run(
    task: str,
    setup: ProbeSetup,
    seconds: float,
    hear: Callable[[Event], None],
    stop: Callable[[], bool],
    origins: Origins,
    **more: Any,
) -> Run:
    """Run a task in a fresh interpreter for at most this many seconds; `hear` gets each event as it comes."""
    with tempfile.TemporaryDirectory(prefix="coldfork-preload-") as folder:
        result = Path(folder, "result")
        result.touch(mode=0o600)
        settings = {
            "mode": "preload",
            "task": task,
            "result": str(result),
            "patience": setup.timeout,
            "limit": min(_FORKED_CHILD_SECONDS, setup.timeout),
            **more,
        }
        told: list[Event] = []
        rest = b""
        with result.open("rb") as stream:

            def look() -> bool:
                nonlocal rest
                *lines, rest = (rest + stream.read()).split(b"\n")
                for line in lines:
                    told.append(events.decode(line.decode("ascii")))
                    hear(told[-1])
                return stop()

            ended = until_its_end(
                [setup.python, "-c", _PROGRAM],
                environment(settings, while_importing(setup.variables()), setup.virtual),
                timeout=seconds,
                stop=look,
            )
            look()
        return Run(told, ended, origins)


class Run:
    """The events of one process and its children, and how the process ended."""

    def __init__(self, told: Sequence[Event], ended: Ended, origins: Origins) -> None:
        self._told = told
        self.ended = ended
        self._origins = origins

    def of(self, *kinds: str) -> list[Event]:
        """Return the events of these kinds, in order."""
        return [event for event in self._told if event.get("event") in kinds]

    def last(self, kind: str) -> Event | None:
        """Return the last event of a kind; None if there is none."""
        found = self.of(kind)
        return found[-1] if found else None

    @property
    def accepted(self) -> list[str]:
        """Return the modules found clean, in the order of their import."""
        return [name for event in self.of("accepted") for name in event["modules"]]

    @property
    def seconds(self) -> dict[str, float]:
        """Return each module's import time, including the modules that it imports."""
        return {event["module"]: float(event["seconds"]) for event in self.of("loaded")}

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """Return the modules found unclean, with the reasons."""
        told = self.of("left")
        # If the part of a module that is responsible was found, report only that part.
        parts = {event["kind"] for event in told if not event.get("whole")}
        return tuple(
            self._left_out(event) for event in told if not event.get("whole") or event["kind"] not in parts
        )

    @property
    def reads(self) -> tuple[VariableUse, ...]:
        """Return the environment variables that imports have read."""
        return self._uses("read")

    @property
    def writes(self) -> tuple[VariableUse, ...]:
        """Return the environment variables that imports have set or removed."""
        return self._uses("written")

    def _uses(self, kind: str) -> tuple[VariableUse, ...]:
        found: dict[str, VariableUse] = {}
        for event in self.of(kind):
            place = self._origins.place(event["path"], event["module"])
            found.setdefault(event["name"], VariableUse(event["name"], event["module"], place, event["line"]))
        return tuple(found[name] for name in sorted(found))

    @property
    def kept(self) -> tuple[Kept, ...]:
        """Return the modules that were proven clean, in order."""
        seconds: dict[str, float] = {}
        tried: tuple[str, ...] = ()
        found: list[Kept] = []
        for event in self.of("imported", "forked", "proven"):
            if event["event"] == "imported":
                seconds[event["module"]] = float(event["seconds"])
            elif event["event"] == "forked":
                tried = tuple(event["tried"])
            else:
                found.append(Kept(event["module"], seconds.get(event["module"], 0.0), tried))
        return tuple(found)

    @property
    def rest(self) -> float | None:
        """Return the seconds that a worker took to import the other modules; None if it did not finish."""
        event = self.last("rest")
        return None if event is None or event["seconds"] is None else float(event["seconds"])

    @property
    def present(self) -> frozenset[str]:
        """Return the modules that are loaded after the list has been imported."""
        event = self.last("present")
        return frozenset(() if event is None else event["modules"])

    @property
    def trouble(self) -> str | None:
        """Return why a worker could not import the other modules or use the device; None if it could."""
        event = self.last("rest")
        if event is not None:
            return None if event["device"] is None else str(event["device"])
        raised = self.last("raised")
        return None if raised is None else f"importing {raised['module']} raised {_said(raised['error'])}"

    def unproven(self, before: Run) -> dict[str, LeftOut]:
        """Return the modules that make a process with this list unclean, by name."""
        last = self.last("importing")
        proven = {one.module for one in self.kept}
        if last is not None and last["module"] not in proven:
            return {last["module"]: self._why(last["module"])}
        return {**dict(self._drawn(before)), **dict(self._frozen(before))}

    @property
    def own(self) -> tuple[str, ...]:
        """Return the variables that imports have read, and whose values differ between workers."""
        return tuple(sorted({event["name"] for event in self.of("own")}))

    def _frozen(self, before: Run) -> Iterator[tuple[str, LeftOut]]:
        """Yield the modules whose content depends on a variable that differs between workers."""
        earlier = {(event["name"], event["module"]): event for event in before.of("own")}
        frozen: dict[str, list[tuple[str, Event]]] = {}
        item: str | None = None
        for event in self.of("importing", "own"):
            if event["event"] == "importing":
                item = event["module"]
                continue
            other = earlier.get((event["name"], event["module"]))
            if item is not None and other is not None and other["digest"] != event["digest"]:
                frozen.setdefault(item, []).append((event["module"] or item, event))
        for item, found in frozen.items():
            module, event = found[0]
            # If several variables were read, it is unknown which of them changed the module.
            names = " or ".join(one["name"] for by, one in found if by == module)
            reason = f"its import reads and keeps {names}, which differs between workers"
            place = self._origins.place(event["path"], event["module"])
            yield item, LeftOut(module, Stain.ENVIRONMENT, reason, place, event["line"])

    def _why(self, module: str) -> LeftOut:
        left = self.last("left")
        if left is not None:
            return self._left_out(left)
        raised = self.last("raised")
        if raised is not None and raised["module"] == module:
            return LeftOut(module, Stain.RAISES, f"its import raises {_said(raised['error'])}")
        forked = self.last("forked")
        if forked is not None and not forked["safe"]:
            return LeftOut(module, Stain.BREAKS, str(forked["reason"]))
        if self.ended.timed_out:
            return LeftOut(module, Stain.HANGS, "its import did not end in time")
        return LeftOut(module, Stain.ENDS, "its import ended the process")

    def seeds(self, before: Run) -> tuple[str, ...]:
        """Return the generators that each worker must seed besides the usual ones, as `module:name`."""
        names = (
            f"{event['module']}:{event['name']}" for _, event in self._differing(before) if event["seedable"]
        )
        return tuple(sorted(set(names)))

    def _drawn(self, before: Run) -> Iterator[tuple[str, LeftOut]]:
        """Yield the modules whose import drew random numbers that a worker cannot draw again."""
        for item, event in self._differing(before):
            if event["seedable"]:
                continue
            name = f"{event['module']}.{event['name']}" if event["module"] else f"a {event['kind']}"
            reason = f"its import draws random numbers from {name}, which would be the same in every worker"
            place = self._origins.place(event["path"], event["module"])
            yield item, LeftOut(event["module"] or item, Stain.SEEDS, reason, place, event["line"])

    def _differing(self, before: Run) -> Iterator[tuple[str, Event]]:
        """Yield the generators whose state differs between the two processes, each with the module being
        imported.
        """
        earlier = {key: event for key, _, event in before._generators()}
        for key, item, event in self._generators():
            other = earlier.get(key)
            if item is not None and other is not None and other["digest"] != event["digest"]:
                yield item, event

    def _generators(self) -> Iterator[tuple[Generator, str | None, Event]]:
        item: str | None = None
        for event in self.of("importing", "generator"):
            if event["event"] == "importing":
                item = event["module"]
            else:
                yield (event["module"], event["name"], event["kind"]), item, event

    def _left_out(self, event: Event) -> LeftOut:
        waker: dict[str, Any] = event.get("waker") or {}
        chain = max(event["chain"], waker.get("import_chain", ()), key=len)
        return LeftOut(
            module=event["module"],
            stain=Stain(event["kind"]),
            reason=event["text"],
            path=self._origins.place(event["path"], event["module"]),
            line=event["line"],
            call=waker.get("call"),
            chain=self._origins.sites(chain),
            stack=self._origins.frames(waker.get("stack", ())),
        )


def _said(error: Event) -> str:
    return f"{error['type']}: {error['message']}".rstrip(": ")
