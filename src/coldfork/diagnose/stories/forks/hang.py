"""A forked child waits for threads that it does not have.

## How it is told

By a dump of stacks: py-spy's, faulthandler's or gdb's, including those of its `py-bt`. A stack that begins
where a forked child begins (`popen_fork.py`, `_launch`), and ends in libgomp's barrier, in the pool of polars
or rayon, in XLA or in gRPC, is told as likely. With the Python calls alone it is told as possible, and only
if the process does not wait for work: a worker that waits in a queue, in a pipe or in a lock of the program's
own is idle, and no story is told.

## What else it could be

A worker with a long computation; a lock of the program's own, held at the fork. `py-spy dump --native --pid
PID` shows the native calls as well.

## Reproduced

By a program that computes with torch, forks and computes again, dumped by faulthandler.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from coldfork.diagnose import roles, stacks
from coldfork.diagnose.case import Case
from coldfork.diagnose.frameworks import framework
from coldfork.diagnose.logs.records import LogLine, Stack
from coldfork.diagnose.stories import telling
from coldfork.knowledge.troubles import named
from coldfork.model.diagnosis import Confidence, Evidence, Participant, Story

NAME = "hang"
_POOLS = re.compile(
    r"libgomp|gomp_(?:team_)?barrier|gomp_team_start|GOMP_parallel|do_futex_wait.*gomp|rayon|polars|libpolars|xla::|xla_extension"
    r"|jaxlib|grpc_core|cygrpc|libiomp|__kmp_"
)
_WAITS = re.compile(
    r"^(?:wait|get|poll|select|recv|_recv|recv_bytes|_recv_bytes|accept|acquire|join|sleep|read|_poll|_wait|dump_traceback"
    r"|_bootstrap|worker|_serve_one|_wait_for_tstate_lock|__enter__|dequeue|read_events|run_forever|_run_once)$"
)
_CRASHED = "Fatal Python error"
_ASKED = ": asked for its stacks, "
_NEAR = 3


def tell(case: Case) -> Iterator[Story]:
    """Yield the story, if a forked child waits for something other than work."""
    if any(_has_crashed(case.log.lines, index) for index in range(len(case.log.lines))):
        return
    stuck = [stack for stack in case.log.stacks if _is_stuck(stack)]
    if not stuck:
        return
    trouble = named(NAME)
    pools = any(_in_pool(stack) for stack in stuck)
    first = stuck[0]
    inside = [frame for frame in first.frames[: _child(first)] if frame.line is not None]
    outer = tuple(reversed(first.frames))
    call = roles.guilty(tuple(reversed(inside))) or stacks.starting_call(outer)
    yield Story(
        NAME,
        "A forked child waits for threads that it does not have",
        Confidence.LIKELY if pools else Confidence.POSSIBLE,
        trouble.cause,
        tuple(dict.fromkeys(_participant(stack) for stack in stuck)),
        telling.place(call, outer) if call else None,
        (),
        tuple(
            Evidence(case.log.name, stack.frames[0].line_number, telling.shown(stack.frames[0]))
            for stack in stuck
        ),
        trouble.remedies,
        (
            "a worker with a long computation",
            "one of the program's own locks, held by another thread at the fork",
        ),
        "coldfork run --follow PROGRAM",
    )


def _has_crashed(lines: Sequence[LogLine], index: int) -> bool:
    """Return whether this line reports a crash, and not stacks that someone requested."""
    if not lines[index].text.startswith(_CRASHED):
        return False
    return not any(_ASKED in line.text for line in lines[max(0, index - _NEAR) : index])


def _child(stack: Stack) -> int:
    """Return how many of the innermost calls belong to the forked child; 0 if the process was not forked."""
    for index, frame in enumerate(stack.frames):
        if frame.function in ("_bootstrap", "fork") and any(
            stacks.joined(outer).endswith("popen_fork.py") for outer in stack.frames[index:]
        ):
            return index
    return 0


def _is_stuck(stack: Stack) -> bool:
    own = stack.frames[: _child(stack)]
    if not own:
        return _is_flushing(stack)
    return _in_pool(stack) or not any(_WAITS.match(frame.function.rpartition(".")[2]) for frame in own[:2])


def _is_flushing(stack: Stack) -> bool:
    """Return whether a child that is ending waits for a stream's lock that a thread held at the fork."""
    first = stack.frames[0]
    return first.function == "_bootstrap" and "flush" in first.text


def _in_pool(stack: Stack) -> bool:
    return any(_POOLS.search(f"{frame.function} {frame.path}") for frame in stack.frames[:12])


def _participant(stack: Stack) -> Participant:
    known = framework(stack.frames, stack.speaker.name)
    outer = tuple(reversed(stack.frames))
    call = stacks.starting_call(outer)
    return Participant(
        stack.speaker.name,
        stack.speaker.pid,
        "child",
        "fork",
        known.name if known else None,
        telling.place(call, outer) if call else None,
    )
