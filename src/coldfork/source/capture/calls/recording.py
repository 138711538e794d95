"""What is noted while code around and inside a capture is followed."""

from __future__ import annotations

from coldfork.model.captures import CaptureKind
from coldfork.source.capture.calls import graph_managers
from coldfork.source.capture.device import synchronisation
from coldfork.source.capture.device.synchronisation import Sync
from coldfork.source.capture.following import Following
from coldfork.source.capture.history.choices import note_contents
from coldfork.source.capture.objects import Arguments, Func, Object, Value
from coldfork.source.capture.state import Observed
from coldfork.source.syntax.nodes import Node
from coldfork.source.syntax.quoting import text_of
from coldfork.source.values.conditions import Condition


def mark_escaped(f: Following, given: Arguments) -> None:
    """What is handed to code that is not followed may be called there."""
    for value in given.values:
        if type(value) is Object:
            value.escaped = True
            if f.run.region is not None:
                f.run.handed.append(value)
        elif isinstance(value, Func) and f.run.region is None:
            f.run.ran.add(("function", *value.place, 0))


def record_call(f: Following, identity: object, node: Node, target: Func | Object) -> Observed | None:
    """Note a call of something that may run kernels: what there is to say if it is its first run."""
    run = f.run
    if run.region is None:
        run.ran.add(identity)
        if type(target) is Object:
            run.runs += 1
        return None
    run.called.append((identity, target))
    if len(run.stack) == run.region.depth:
        return graph_managers.first_run(f, identity, node, target)
    return None


def record_sync(f: Following, sync: Sync, what: str) -> None:
    """Note a synchronisation, if it happens under capture."""
    if f.run.region is None:
        return
    extra = (Condition(words=sync.condition),) if sync.condition else ()
    f.run.observe(CaptureKind.SYNCHRONISES, what, extra=extra, possible=sync.possible)


def record_truth_test(f: Following, value: Value, expression: Node, words: str, end: str = "") -> None:
    """Note that the host asks what is in a tensor."""
    text = text_of(expression) if type(value) is Object and value.tensor is not None else ""
    sync = synchronisation.of_truth(value, text)
    if sync is not None:
        record_sync(f, sync, f"{words}{text}{end}")


def ask_truth(f: Following, test: Node, words: str = "the truth of ", end: str = "") -> bool | None:
    """Whether what an expression gives is true, if that is known: of a tensor, only the device knows."""
    return f.truth(ask_value(f, test, words, end))


def ask_value(f: Following, test: Node, words: str = "the truth of ", end: str = "") -> Value:
    """What an expression gives whose truth is asked for."""
    value = f.evaluate(test)
    note_contents(f, value)
    record_truth_test(f, value, test, words, end)
    return value
