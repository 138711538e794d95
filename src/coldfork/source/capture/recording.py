"""What is noted while code around and inside a capture is followed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldfork.model.captures import CaptureKind
from coldfork.source.capture import graph_managers
from coldfork.source.capture.device import synchronisation
from coldfork.source.capture.device.synchronisation import Sync
from coldfork.source.capture.objects import Func, Thing, Value
from coldfork.source.capture.state import Caught
from coldfork.source.syntax.nodes import Node
from coldfork.source.syntax.quoting import text_of
from coldfork.source.values.conditions import Condition

if TYPE_CHECKING:
    from coldfork.source.capture.follower import Follower


def escape(f: Follower, arguments: list[Value], keywords: dict[str, Value]) -> None:
    """What is handed to code that is not followed may be called there."""
    for value in (*arguments, *keywords.values()):
        if type(value) is Thing:
            value.escaped = True
        elif isinstance(value, Func) and f.run.region is None:
            f.run.ran.add(("function", *value.place, 0))


def forward(f: Follower, identity: object, node: Node, target: Func | Thing) -> Caught | None:
    """Note a call of something that may run kernels: what there is to say if it is its first run."""
    run = f.run
    if run.region is None:
        run.ran.add(identity)
        if type(target) is Thing:
            run.runs += 1
        return None
    run.called.append((identity, target))
    if len(run.stack) == run.region.depth:
        return graph_managers.first_run(f, identity, node, target)
    return None


def told(f: Follower, sync: Sync, what: str) -> None:
    """Note a synchronisation, if it happens under capture."""
    if f.run.region is None:
        return
    extra = (Condition(words=sync.condition),) if sync.condition else ()
    f.run.catch(CaptureKind.SYNCHRONISES, what, extra=extra, possible=sync.possible)


def asked_for_truth(f: Follower, value: Value, expression: Node, words: str) -> None:
    """Note that the host asks what is in a tensor."""
    sync = synchronisation.of_truth(value, text_of(expression))
    if sync is not None:
        told(f, sync, f"{words}{text_of(expression)}")
