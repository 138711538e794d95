"""Start the processes that try imports, and read their reports."""

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
"""A source of random numbers: its module, its name there, and its kind."""


def run(
    task: str,
    setup: ProbeSetup,
    seconds: float,
    hear: Callable[[Event], None],
    stop: Callable[[], bool],
    origins: Origins,
    **more: Any,
) -> Run:
    """Have a fresh interpreter do a task within this many seconds; `hear` gets its events as they come."""
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
    """The events of one process and its children, in the model's terms, and how it ended."""

    def __init__(self, told: Sequence[Event], ended: Ended, origins: Origins) -> None:
        self._told = told
        self.ended = ended
        self._origins = origins

    def of(self, *kinds: str) -> list[Event]:
        """Return the events of these kinds, in order."""
        return [event for event in self._told if event.get("event") in kinds]

    def last(self, kind: str) -> Event | None:
        """Return the last event of a kind."""
        found = self.of(kind)
        return found[-1] if found else None

    @property
    def accepted(self) -> list[str]:
        """Return the modules that were found clean, in the order of their import."""
        return [name for event in self.of("accepted") for name in event["modules"]]

    @property
    def seconds(self) -> dict[str, float]:
        """Return how long each module took to import, with everything that it imports."""
        return {event["module"]: float(event["seconds"]) for event in self.of("loaded")}

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """Return the modules that were found unclean."""
        told = self.of("left")
        # Where the responsible part was found, report that part and not the whole.
        parts = {event["kind"] for event in told if not event.get("whole")}
        return tuple(
            self._left_out(event) for event in told if not event.get("whole") or event["kind"] not in parts
        )

    @property
    def reads(self) -> tuple[VariableUse, ...]:
        """Return the variables that were read."""
        return self._uses("read")

    @property
    def writes(self) -> tuple[VariableUse, ...]:
        """Return the variables that were set or removed."""
        return self._uses("written")

    def _uses(self, kind: str) -> tuple[VariableUse, ...]:
        found: dict[str, VariableUse] = {}
        for event in self.of(kind):
            place = self._origins.place(event["path"], event["module"])
            found.setdefault(event["name"], VariableUse(event["name"], event["module"], place, event["line"]))
        return tuple(found[name] for name in sorted(found))

    @property
    def kept(self) -> tuple[Kept, ...]:
        """Return the modules that were proven, in order."""
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
        """Return how long a worker still took for its other imports."""
        event = self.last("rest")
        return None if event is None or event["seconds"] is None else float(event["seconds"])

    @property
    def present(self) -> frozenset[str]:
        """Return the modules that the list brings along."""
        event = self.last("present")
        return frozenset(() if event is None else event["modules"])

    @property
    def trouble(self) -> str | None:
        """Return what a worker could not do."""
        event = self.last("rest")
        if event is not None:
            return None if event["device"] is None else str(event["device"])
        raised = self.last("raised")
        return None if raised is None else f"importing {raised['module']} raised {_said(raised['error'])}"

    def unproven(self, before: Run) -> dict[str, LeftOut]:
        """Return, by name, the modules of a list that keep a process from importing it and staying clean."""
        last = self.last("importing")
        proven = {one.module for one in self.kept}
        if last is not None and last["module"] not in proven:
            return {last["module"]: self._why(last["module"])}
        return {**dict(self._drawn(before)), **dict(self._frozen(before))}

    @property
    def own(self) -> tuple[str, ...]:
        """Return the variables read whose values differ between workers."""
        return tuple(sorted({event["name"] for event in self.of("own")}))

    def _frozen(self, before: Run) -> Iterator[tuple[str, LeftOut]]:
        """Yield the modules that come out different when a variable has another value."""
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
            # With several variables, it cannot be seen which one changed the module.
            names = " or ".join(one["name"] for by, one in found if by == module)
            reason = f"its import reads {names}, which differs between workers, and keeps it"
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
        """Return what each worker seeds anew beyond the usual generators, as module, colon and name."""
        names = (
            f"{event['module']}:{event['name']}" for _, event in self._differing(before) if event["seedable"]
        )
        return tuple(sorted(set(names)))

    def _drawn(self, before: Run) -> Iterator[tuple[str, LeftOut]]:
        """Yield the modules whose random numbers differ between processes and cannot be drawn anew."""
        for item, event in self._differing(before):
            if event["seedable"]:
                continue
            name = f"{event['module']}.{event['name']}" if event["module"] else f"a {event['kind']}"
            reason = f"its import draws {name} at random, and every worker would have the same"
            place = self._origins.place(event["path"], event["module"])
            yield item, LeftOut(event["module"] or item, Stain.SEEDS, reason, place, event["line"])

    def _differing(self, before: Run) -> Iterator[tuple[str, Event]]:
        """Yield what another process has drawn differently, each with the module that brought it."""
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
