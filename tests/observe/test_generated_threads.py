"""On generated programs with threads the waker is named rightly or not at all, on every Python."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from tests.amounts import examples
from tests.observe.planting_threads import Threaded, threaded
from tests.observe.processes import Event, imported, kinds, write

pytestmark = pytest.mark.once

EXAMPLES = examples(20)


def wakers(folder: Path, program: Threaded, *stage2: str) -> list[Event]:
    """Who woke the device, as a real process says; nobody, if the program ended before it was woken."""
    write(folder, {"grown.py": program.grown, "guilty.py": program.guilty})
    said = imported(folder, "grown", *stage2)
    assert said["failure"] is None, (said["failure"], program.grown)
    assert kinds(said["events"], "trouble") == [], program.grown
    return [event["waker"] for event in kinds(said["events"], "wake")]


@pytest.mark.must_hold
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(threaded())
def test_right_or_unknown_and_never_wrong(program: Threaded) -> None:
    """The thread, the module and the line are those that were planted, or none is named."""
    for stage2 in ((), ("grown", "guilty")):
        with tempfile.TemporaryDirectory() as folder:
            found = wakers(Path(folder), program, *stage2)
        assert len(found) <= 1
        for waker in found:
            right_or_unknown(waker, program)


def right_or_unknown(waker: Event, program: Threaded) -> None:
    """Require that everything said of the waker is true, as far as it goes."""
    if waker["thread"].startswith("unknown: "):
        assert (waker["module"], waker["line"], waker["stack"]) == (None, None, []), waker
        assert program.thread in waker["thread"], (waker, program.grown)
        return
    told = (waker, program.grown)
    assert (waker["thread"], waker["module"]) == (program.thread, program.module), told
    if waker["line"] is not None and program.module is not None:
        assert waker["line"] == program.line, told
    home = program.module or "grown"
    if waker["stack"]:
        lines = {frame["line"] for frame in waker["stack"] if Path(frame["path"]).stem == home}
        assert program.line in lines, told
