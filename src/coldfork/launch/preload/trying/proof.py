"""Import a list in one process, as a server does, and prove after each module that forks can work."""

from __future__ import annotations

import gc
import sys
from time import process_time

from coldfork.launch.preload.trying.attempt import attempt, tell_of_generators, tell_of_variables, use_device
from coldfork.launch.preload.trying.forked_attempt import fork_and_hear
from coldfork.launch.preload.trying.variables import pretend
from coldfork.launch.server import renewal
from coldfork.launch.server.renewal import ThreadLimits
from coldfork.observe.probing import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from coldfork.launch.preload.trying.forked_attempt import Tell
    from coldfork.launch.preload.trying.observer import Observer
    from coldfork.observe.recording.events import Event


def prove(observer: Observer, tell: Tell, settings: dict[str, Any]) -> None:
    """Import each module and let a worker import the others; stop at the first unclean module."""
    pretend(settings["pretended"])
    for name in settings["modules"]:
        tell({"event": "importing", "module": name})
        heard: list[Event] = []
        observer.begin(heard.append)
        clean = attempt([name], observer, heard.append, settings["limit"])
        for event in heard:
            if event["event"] in ("stain", "raised", "forked", "imported"):
                tell(event)
        if not clean:
            _blame(name, heard, tell, settings)
            return
        tell_of_variables(observer, tell)
        tell_of_generators(tell)
        gc.freeze()
        tell({"event": "proven", "module": name})
    tell({"event": "present", "modules": sorted(sys.modules)})
    if settings["wanted"]:
        _rest(observer, tell, settings)


def _blame(name: str, heard: list[Event], tell: Tell, settings: dict[str, Any]) -> None:
    """Report the chain of imports from a module to the cause of the fault."""
    from coldfork.launch.preload.trying.forked_attempt import Tree

    tree = Tree()
    for event in heard:
        if event["event"] in ("item", "begin", "end"):
            tree.hear(event)
    for event in heard:
        if event["event"] == "stain":
            node = tree.nodes.get(event["module"] or "")
            steps = [] if node is None else node.steps(event["path"], event["line"])
            tell({**event, "event": "left", "item": name, "chain": steps, "waker": None})


def _rest(observer: Observer, tell: Tell, settings: dict[str, Any]) -> None:
    """Fork a worker that imports the modules that are not in the list, and uses the device."""

    def live(_: Tell) -> None:
        observer.remove()
        renewal.redraw()
        ThreadLimits().restore({"OMP_NUM_THREADS": "2"})
        began = process_time()
        for module in settings["wanted"]:
            try:
                __import__(module)
            except BaseException as error:
                tell({"event": "raised", "module": module, "error": describe(error)})
                return
        seconds = process_time() - began
        try:
            use_device()
        except BaseException as error:
            tell({"event": "rest", "seconds": seconds, "device": f"{type(error).__name__}: {error}"})
        else:
            tell({"event": "rest", "seconds": seconds, "device": None})

    heard = fork_and_hear(live, settings["patience"])
    if heard is not None and heard.timed_out:
        tell({"event": "rest", "seconds": None, "device": "a worker that imports the rest does not end"})
