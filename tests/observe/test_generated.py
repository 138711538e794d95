"""On generated programs the module, the function and the line named equal the planted ones, always."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings

from tests.amounts import examples
from tests.observe.planting import Planted, Program, programs, write

HERE = Path(__file__).parent
SOURCES = HERE.parent.parent / "src"
EXAMPLES = examples(20)
MONITORING = hasattr(sys, "monitoring")

PLAINLY = f"""
import json, sys
sys.path[:0] = [sys.argv[1], {str(HERE)!r}]
failure = None
try:
    __import__(sys.argv[2])
except BaseException as error:
    failure = f"{{type(error).__name__}}: {{error}}"
import planted_device
print(json.dumps({{"failure": failure, "confessed": planted_device.CONFESSED}}))
"""


def run(arguments: list[str], planted: Planted) -> dict[str, Any]:
    """The JSON that a real process prints."""
    process = subprocess.run(
        [sys.executable, *arguments],
        env={"PYTHONPATH": str(SOURCES), "PYTHONDONTWRITEBYTECODE": "1", "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert process.returncode == 0, process.stderr + planted.described
    said: dict[str, Any] = json.loads(process.stdout)
    return said


def plainly(planted: Planted) -> dict[str, Any]:
    """Return the report of a process that imports the program without a watch."""
    return run(["-c", PLAINLY, planted.root, planted.entry], planted)


def look(planted: Planted, *stage2: str) -> dict[str, Any]:
    """Return the report of a real process that imports the program under watch."""
    said = run([str(HERE / "watched_program.py"), planted.root, planted.entry, *stage2], planted)
    if said["failure"] is not None:
        # Some of what is generated Python itself refuses, and then in the same words without us.
        assert refusal(said) == refusal(plainly(planted))
    assert [event["event"] for event in said["events"]] == ["wake"], (said["events"], planted.described)
    waker: dict[str, Any] = said["events"][0]["waker"]
    return waker


def refusal(said: dict[str, Any]) -> str:
    """Return the error that ended a program; chance decides at which call endless recursion is noticed."""
    return str(said["failure"]).replace(" while calling a Python object", "")


def agree_with_python(planted: Planted) -> None:
    """CPython's own stack, at the waking call and without us, shows every line that was planted."""
    frames = plainly(planted)["confessed"]
    assume(frames)  # a module that takes itself out of `sys.modules` cannot be imported in a circle
    path, line, function = frames[0]
    assert (path, line) == (planted.call_path, planted.call_line), (frames, planted.described)
    assert function.rpartition(".")[2] in (name.rpartition(".")[2] for name in planted.call_functions), frames
    here = [frame for frame in frames if frame[:2] == [planted.path, planted.line]]
    assert {function for *_, function in here} & set(planted.functions), (frames, planted.described)
    shown = {(path, line) for path, line, _ in frames}
    importing = [line for _, line in planted.chain[:-1]]
    assert shown.issuperset(zip(planted.paths, importing, strict=False)), (frames, planted.described)


@pytest.mark.must_hold
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_the_planted_line_is_named(program: Program) -> None:
    """Stage 1 names the module and the imports that led there; stage 2 in it the line and the call."""
    with tempfile.TemporaryDirectory() as folder:
        agree_with_python(write(Path(folder), program, confessing=True))
        planted = write(Path(folder), program)
        first = look(planted)
        assert (first["module"], first["thread"]) == (planted.module, "MainThread"), planted.described
        assert chain_of(first) == [*planted.chain[:-1], (planted.module, None)], planted.described

        second = look(planted, planted.module)
        named = {key: second[key] for key in ("module", "path", "line", "thread")}
        assert named == {
            "module": planted.module,
            "path": planted.path,
            "line": planted.line,
            "thread": "MainThread",
        }, planted.described
        assert second["function"] in planted.functions, (second["function"], planted.described)
        assert chain_of(second) == list(planted.chain), planted.described
        stack = second["stack"]
        assert (stack[0]["path"], stack[0]["line"]) == (planted.path, planted.line), planted.described
        calls = [
            at
            for at, frame in enumerate(stack)
            if (frame["path"], frame["line"]) == (planted.call_path, planted.call_line)
        ]
        assert calls, (stack, planted.described)
        behind = [frame["function"] for frame in stack[calls[-1] + 1 :]]
        assert behind == list(planted.waking.frames), (stack, planted.described)
        allowed = planted.waking.calls[MONITORING]
        assert second["call"] in allowed or "ANY" in allowed, (second["call"], planted.described)


def chain_of(waker: dict[str, Any]) -> list[tuple[str, int | None]]:
    """The import chain as pairs of a module and a line."""
    return [(site["module"], site["line"]) for site in waker["import_chain"]]
