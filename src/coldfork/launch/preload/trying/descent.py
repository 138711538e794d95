"""Finds the largest part of an import that leaves a process fit to fork, by forking before each step.

A child imports the next modules. If it is clean then, it goes on in its parent's place, which ends. If not,
it has told which module made it so, and the parent tries what was loaded beside that module instead. So
nothing is imported twice that is clean, and nothing that is not clean stays.
"""

from __future__ import annotations

import gc
import os
import sys

from coldfork.launch.preload.trying.attempt import (
    BREAKS,
    DEVICE,
    RAISES,
    attempt,
    tell_of_generators,
    tell_of_variables,
)
from coldfork.launch.preload.trying.closer_look import look_closer
from coldfork.launch.preload.trying.ending import wait_for_the_end
from coldfork.launch.preload.trying.forked_attempt import CLEAN, Outcome, fork_and_hear
from coldfork.launch.preload.trying.tree import untainted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from coldfork.launch.preload.trying.observer import Observer, Tell
    from coldfork.launch.preload.trying.tree import Node
    from coldfork.observe.recording.events import Event

ENDS, HANGS = "ends", "hangs"
"""Two more things that may be wrong with a module: its import ends the process, or does not end."""


class Descent:
    """The search in one chain of processes; each of them is the child of the one before."""

    def __init__(self, observer: Observer, tell: Tell, settings: dict[str, Any]) -> None:
        self._observer = observer
        self._tell = tell
        self._wanted: list[str] = settings["wanted"]
        self._patience: float = settings["patience"]
        self._limit: float = settings["limit"]
        self._tainted: set[str] = set(settings["taboo"])
        self._known: dict[str, Node] = {}
        """The modules that importing all of them has loaded, and all that was loaded for each wanted one."""
        self._queue: list[list[str]] = []
        self._steps = 0

    def run(self) -> None:
        """Find them all; returns in the last process of the chain."""
        self._survey()
        self._queue = [self._wanted]
        while self._queue:
            modules = self._expanded(self._queue.pop(0))
            if not modules:
                continue
            outcome = self._try(modules)
            if outcome is None:
                # In the child: these are imported here now.
                continue
            if outcome.clean:
                os._exit(0)
            self._learn(outcome, modules)
            self._divide(outcome, modules)
        self._tell({"event": "complete"})

    def _survey(self) -> None:
        """Import everything in a child, to see what is loaded and what that leaves behind."""

        def live(tell: Tell) -> None:
            self._observer.begin(tell)
            attempt(self._wanted, self._observer, tell, self._limit)
            tell({"event": "ended"})
            wait_for_the_end()

        outcome = fork_and_hear(live, self._patience, self._say)
        assert outcome is not None
        self._known = {**outcome.tree.nodes, **outcome.tree.items}
        for node in outcome.tree.nodes.values():
            self._tell(
                {
                    "event": "loaded",
                    "module": node.name,
                    "seconds": node.seconds,
                    "own": node.seconds - sum(child.seconds for child in node.children),
                }
            )
        self._learn(outcome, self._wanted)

    def _try(self, modules: list[str]) -> Outcome | None:
        def live(tell: Tell) -> None:
            self._observer.begin(tell, self._tainted)
            clean = attempt(modules, self._observer, tell, self._limit)
            if not clean:
                tell({"event": "ended"})
                wait_for_the_end()
            tell_of_variables(self._observer, self._tell)
            tell_of_generators(self._tell)
            self._tell({"event": "accepted", "modules": modules})
            gc.freeze()
            tell({"event": CLEAN})

        return fork_and_hear(live, self._patience, self._say)

    def _say(self, event: Event) -> None:
        """Let it be seen how far this is."""
        if event["event"] == "begin":
            self._steps += 1
            if self._steps % 50 == 0:
                self._tell({"event": "progress", "loaded": self._steps, "module": event["module"]})

    def _is_tainted(self, name: str) -> bool:
        """Whether importing a module imports one that may not stay: itself, or a package that it is in."""
        while name:
            if name in self._tainted:
                return True
            name = name.rpartition(".")[0]
        return False

    def _expanded(self, names: Iterable[str]) -> list[str]:
        """These without what is loaded; what may not stay is replaced by what it would load."""
        found: list[str] = []
        for name in names:
            if name in sys.modules or name in found:
                continue
            if not self._is_tainted(name):
                found.append(name)
            elif name in self._known:
                found += self._expanded(self._below(self._known[name]))
        return found

    def _below(self, node: Node) -> list[str]:
        return [one.name for one in untainted(node, self._is_tainted)]

    def _learn(self, outcome: Outcome, modules: Sequence[str]) -> None:
        """Note which modules may not stay after what a child has told."""
        innermost = outcome.tree.current
        if innermost.name and (outcome.reached or outcome.timed_out or not outcome.ended):
            chain = innermost.chain()
            self._tainted.update(node.name for node in chain)
            if outcome.reached is None:
                kind = HANGS if outcome.timed_out else ENDS
                self._leave_out(kind, _STOPPED[kind], chain, innermost.path, None)
        for stain in outcome.stains:
            self._learn_of_stain(stain, outcome, modules)
        if outcome.raised and not outcome.stains:
            for event in outcome.raised:
                self._tainted.add(event["module"])
                error = event["error"]
                place = error["stack"][-1] if error["stack"] else {}
                text = f"its import raises {error['type']}: {error['message']}"
                self._tell_left(RAISES, text, event["module"], place.get("path"), place.get("line"))
        if outcome.breaks is not None and len(modules) == 1:
            self._tainted.add(modules[0])
            self._tell_whole(BREAKS, outcome.breaks["reason"], modules[0])

    def _learn_of_stain(self, stain: Event, outcome: Outcome, modules: Sequence[str]) -> None:
        node = outcome.tree.nodes.get(stain["module"] or "")
        if node is None:
            if len(modules) == 1:
                self._tainted.add(modules[0])
                self._tell_whole(stain["kind"], stain["text"], modules[0])
            return
        known = node.name in self._tainted
        self._tainted.update(one.name for one in node.chain())
        waker = None
        if stain["kind"] == DEVICE and not known:
            waker = look_closer(node.name, stain["accelerator"], self._observer, self._patience)
        path, line = stain["path"], stain["line"]
        if waker is not None:
            path, line = waker["path"], waker["line"]
        self._leave_out(stain["kind"], stain["text"], node.chain(), path, line, waker)

    def _leave_out(
        self,
        kind: str,
        text: str,
        chain: Sequence[Node],
        path: str | None,
        line: int | None,
        waker: Event | None = None,
    ) -> None:
        # The line that leads on from a module is that which asked for the next one.
        onward = [*((node.by, node.line) for node in chain[1:]), (path, line)]
        steps = [
            {"module": node.name, "path": by or node.path, "line": number}
            for node, (by, number) in zip(chain, onward, strict=True)
        ]
        self._tell_left(kind, text, chain[-1].name, path, line, steps, waker)

    def _tell_whole(self, kind: str, text: str, module: str) -> None:
        """A module is to be left out, and it may be because of one that it imports."""
        node = self._known.get(module)
        whole = node is not None and bool(node.children)
        self._tell_left(kind, text, module, None, None, whole=whole)

    def _tell_left(
        self,
        kind: str,
        text: str,
        module: str,
        path: str | None,
        line: int | None,
        chain: Sequence[Event] = (),
        waker: Event | None = None,
        *,
        whole: bool = False,
    ) -> None:
        self._tell(
            {
                "event": "left",
                "whole": whole,
                "kind": kind,
                "text": text,
                "module": module,
                "path": path,
                "line": line,
                "chain": list(chain),
                "waker": waker,
            }
        )

    def _divide(self, outcome: Outcome, modules: list[str]) -> None:
        """Put what is left to try of these in front of the queue."""
        parts: list[list[str]] = [[]]
        for name in modules:
            node = outcome.tree.items.get(name)
            bad = self._is_tainted(name) or (
                node is not None and any(self._is_tainted(one.name) for one in node.walk() if one.name)
            )
            if not bad:
                parts[-1].append(name)
                continue
            self._tainted.add(name)
            seen = self._known.get(name) or node
            parts += [[] if seen is None else self._below(seen), []]
        if len(parts) == 1 and len(modules) > 1:
            # Nobody knows yet which of them it was.
            half = len(modules) // 2
            parts = [modules[:half], modules[half:]]
        elif len(parts) == 1:
            self._tainted.add(modules[0])
            seen = self._known.get(modules[0]) or outcome.tree.items.get(modules[0])
            parts = [[] if seen is None else self._below(seen)]
        self._queue[:0] = [part for part in parts if part]


_STOPPED = {HANGS: "its import did not end in time", ENDS: "its import ended the process"}
