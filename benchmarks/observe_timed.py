"""One watched import in which each event of the watch is timed where it happens.

usage: observe_timed.py SOURCES RECORDING CODE; prints one JSON object: kind of event -> [how often, seconds].
"""

from __future__ import annotations

import json
import sys
from time import thread_time as seconds_of_work

sys.path.append(sys.argv[1])

from coldfork.observe import forks
from coldfork.observe.imports import Imports
from coldfork.observe.recording.recorder import Recorder
from coldfork.observe.watch import watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

NAMES = {"enter": "load begins", "enter_body": "body begins", "leave": "load ends"}
times: dict[str, list[float]] = {name: [] for name in (*NAMES.values(), "audit event")}


def timed(function: Callable[..., Any], spent: list[float]) -> Callable[..., Any]:
    """The function, and how long it took each time."""

    def measured(*arguments: object) -> object:
        began = seconds_of_work()
        try:
            return function(*arguments)
        finally:
            ended = seconds_of_work()
            # The clock itself, read where the program has left the caches.
            spent.append(ended - began - (seconds_of_work() - ended))

    return measured


for method, name in NAMES.items():
    setattr(Imports, method, timed(getattr(Imports, method), times[name]))
hook = forks._hook
forks._hook = lambda *arguments: timed(hook(*arguments), times["audit event"])

watching = watch(Recorder(sys.argv[2]), base="__main__")
exec(sys.argv[3], {"__name__": "__main__"})
watching.stop()
found = {name: [len(spent), max(0.0, sum(spent))] for name, spent in times.items()}
print(json.dumps(found))
