"""Find the largest part of an import after which a process may still fork, by forking before each step.

A child imports the next modules. If it is clean afterwards, it continues the search and the parent ends. If
not, it has reported the module that made it unclean, and the parent instead tries the other modules that were
to be loaded. So no clean module is imported twice, and no process with an unclean one survives.
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
from coldfork.launch.preload.trying.forked_attempt import Heard, fork_and_hear, untainted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from coldfork.launch.preload.trying.forked_attempt import Node, Tell, Tree
    from coldfork.launch.preload.trying.lines import Site
    from coldfork.launch.preload.trying.observer import Observer
    from coldfork.observe.recording.events import Event


ENDS, HANGS = "ends", "hangs"
"""Two more faults of a module: its import ends the process, or never ends."""
_STOPPED = {HANGS: "its import did not end in time", ENDS: "its import ended the process"}


class Descent:
    """The search, in a chain of processes, each forked by the one before."""

    def __init__(self, observer: Observer, tell: Tell, settings: dict[str, Any]) -> None:
        self._observer = observer
        self._tell = tell
        self._wanted: list[str] = settings["wanted"]
        self._patience: float = settings["patience"]
        self._limit: float = settings["limit"]
        self._tainted: set[str] = set(settings["taboo"])
        self._known: dict[str, Node] = {}
        """The modules that are loaded when everything is imported, each with the modules that it loads."""
        self._queue: list[list[str]] = []
        self._steps = 0

    def run(self) -> None:
        """Run the whole search; only the last process of the chain returns."""
        self._survey()
        self._queue = [self._wanted]
        while self._queue:
            modules = self._expanded(self._queue.pop(0))
            if not modules:
                continue
            heard = self._try(modules)
            if heard is None:
                # This is the child, which has now imported these modules.
                continue
            if heard.clean:
                os._exit(0)
            self._learn(heard, modules)
            self._divide(heard, modules)
        self._tell({"event": "complete"})

    def _survey(self) -> None:
        """Import everything in a child, to learn which modules are loaded and what they leave behind."""

        def live(tell: Tell) -> None:
            self._observer.begin(tell)
            attempt(self._wanted, self._observer, tell, self._limit)

        heard = fork_and_hear(live, self._patience, self._say)
        assert heard is not None
        self._known = {**heard.tree.nodes, **heard.tree.items}
        for node in heard.tree.nodes.values():
            self._tell(
                {
                    "event": "loaded",
                    "module": node.name,
                    "seconds": node.seconds,
                    "own": node.seconds - sum(child.seconds for child in node.children),
                }
            )
        self._learn(heard, self._wanted)

    def _try(self, modules: list[str]) -> Heard | None:
        def live(tell: Tell) -> bool:
            self._observer.begin(tell, self._tainted)
            clean = attempt(modules, self._observer, tell, self._limit)
            if clean:
                tell_of_variables(self._observer, self._tell)
                tell_of_generators(self._tell)
                self._tell({"event": "accepted", "modules": modules})
                gc.freeze()
            return clean

        return fork_and_hear(live, self._patience, self._say)

    def _say(self, event: Event) -> None:
        """Report progress every 50 modules."""
        if event["event"] == "begin":
            self._steps += 1
            if self._steps % 50 == 0:
                self._tell({"event": "progress", "loaded": self._steps, "module": event["module"]})

    def _is_tainted(self, name: str) -> bool:
        """Return whether a module, or a package that contains it, is known to be unclean."""
        while name:
            if name in self._tainted:
                return True
            name = name.rpartition(".")[0]
        return False

    def _expanded(self, names: Iterable[str]) -> list[str]:
        """Return these names without modules already loaded, and with the clean parts of the unclean ones."""
        found: list[str] = []
        for name in names:
            if name in sys.modules or name in found:
                continue
            if not self._is_tainted(name):
                found.append(name)
            else:
                found += self._expanded(self._below(name))
        return found

    def _below(self, name: str, tree: Tree | None = None) -> list[str]:
        """Return the largest parts below a module that are known to be clean: modules that it loads, with all
        that these load.
        """
        node = self._known.get(name) or (tree and tree.items.get(name))
        return [one.name for one in untainted(node, self._is_tainted)] if node else []

    def _learn(self, heard: Heard, modules: Sequence[str]) -> None:
        """Record the modules that a child's reports show to be unclean."""
        innermost = heard.tree.current
        if innermost.name and (heard.reached or heard.timed_out or not heard.ended):
            self._tainted.update(node.name for node in innermost.chain())
            if heard.reached is None:
                kind = HANGS if heard.timed_out else ENDS
                steps = innermost.steps(innermost.path, None)
                self._leave_out(kind, _STOPPED[kind], innermost.name, (innermost.path, None), steps)
        for stain in heard.stains:
            self._learn_of_stain(stain, heard, modules)
        if heard.raised and not heard.stains:
            for event in heard.raised:
                self._tainted.add(event["module"])
                error = event["error"]
                place = error["stack"][-1] if error["stack"] else {}
                text = f"its import raises {error['type']}: {error['message']}"
                self._leave_out(RAISES, text, event["module"], (place.get("path"), place.get("line")))
        if heard.breaks is not None and len(modules) == 1:
            self._leave_out_whole(BREAKS, heard.breaks["reason"], modules[0])

    def _learn_of_stain(self, stain: Event, heard: Heard, modules: Sequence[str]) -> None:
        node = heard.tree.nodes.get(stain["module"] or "")
        if node is None:
            if len(modules) == 1:
                self._leave_out_whole(stain["kind"], stain["text"], modules[0])
            return
        known = node.name in self._tainted
        self._tainted.update(one.name for one in node.chain())
        waker = None
        if stain["kind"] == DEVICE and not known:
            waker = look_closer(node.name, stain["accelerator"], self._observer, self._patience)
        place = (waker or stain)["path"], (waker or stain)["line"]
        self._leave_out(stain["kind"], stain["text"], node.name, place, node.steps(*place), waker)

    def _leave_out_whole(self, kind: str, text: str, module: str) -> None:
        """Leave out a whole module, although a module that it imports may be responsible."""
        self._tainted.add(module)
        node = self._known.get(module)
        self._leave_out(kind, text, module, whole=node is not None and bool(node.children))

    def _leave_out(
        self,
        kind: str,
        text: str,
        module: str,
        place: Site = (None, None),
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
                "path": place[0],
                "line": place[1],
                "chain": list(chain),
                "waker": waker,
            }
        )

    def _divide(self, heard: Heard, modules: list[str]) -> None:
        """Put the parts of these modules that are still to be tried at the front of the queue."""
        parts: list[list[str]] = [[]]
        for name in modules:
            node = heard.tree.items.get(name)
            bad = self._is_tainted(name) or (
                node is not None and any(self._is_tainted(one.name) for one in node.walk() if one.name)
            )
            if not bad:
                parts[-1].append(name)
                continue
            self._tainted.add(name)
            parts += [self._below(name, heard.tree), []]
        if len(parts) == 1 and len(modules) > 1:
            # No module was found to be responsible, so try the halves separately.
            half = len(modules) // 2
            parts = [modules[:half], modules[half:]]
        elif len(parts) == 1:
            self._tainted.add(modules[0])
            parts = [self._below(modules[0], heard.tree)]
        self._queue[:0] = [part for part in parts if part]


def look_closer(module: str, accelerator: str, observer: Observer, patience: float) -> Event | None:
    """Import a module in a child to find the line that wakes an accelerator; None if it was not found."""

    def live(tell: Tell) -> None:
        from coldfork.observe.watch import watch

        def hear(event: Event) -> None:
            if event.get("event") == "wake" and event["accelerator"] == accelerator:
                tell({"event": "waker", "waker": event["waker"]})

        observer.remove()
        watching = watch(hear, stage2=(module,), imports=False, outside=False)
        try:
            __import__(module)
        except BaseException:
            # Any wake before the error has already been reported.
            pass
        watching.poll()

    heard = fork_and_hear(live, patience)
    return None if heard is None else heard.waker
