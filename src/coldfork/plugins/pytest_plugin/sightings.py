"""Wakes and forks that a test run has seen, with stacks reduced to the tests and the code under test."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

import pluggy

import coldfork
from coldfork.model.forking.judgement import Deed, Judgement, Purpose, Verdict, held, judge, worst
from coldfork.model.states import Frame, ImportSite, Level, Status, Waker
from coldfork.observe.probing import RUNTIMES
from coldfork.observe.stacks.call_source import is_class_body
from coldfork.observe.stacks.witness import modules_by_path

Event = Mapping[str, Any]

BODY = "<module>"
_OWN = str(Path(coldfork.__file__).parent) + os.sep
_PLUGGY = str(Path(pluggy.__file__).parent) + os.sep
_STANDARD = str(Path(os.__file__).parent) + os.sep
_INSTALLED = ("site-packages", "dist-packages")
_RUNNERS = ("_pytest", "pytest", "xdist", "execnet")


@dataclass(frozen=True, slots=True)
class SeenWake:
    """A device that became awake, and the line that woke it."""

    accelerator: str
    level: Level | None
    waker: Waker

    @property
    def imported(self) -> bool:
        """Whether the wake happened while a module was imported."""
        return bool(self.waker.import_chain)


@dataclass(frozen=True, slots=True)
class SeenFork:
    """A fork while devices were awake."""

    awake: tuple[str, ...]
    thread: str
    stack: tuple[Frame, ...]
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    """The judgement of each held thing, for the child."""
    touched: str | None = None
    """The device that the child has used."""

    @property
    def judgement(self) -> Judgement:
        """The effect of the fork on its child, considering only devices."""
        return worst(self.verdicts[name].judgement for name in self.awake if name in self.verdicts)

    @property
    def site(self) -> Frame | None:
        """The line that a user would change: the innermost one outside libraries."""
        own = [frame for frame in self.stack if not _is_installed(frame.path)]
        return own[-1] if own else (self.stack[-1] if self.stack else None)


def wake(event: Event, frames: Sequence[Event] | None) -> SeenWake | None:
    """Return the wake that an event describes; if the device reported it, `frames` is the whole stack."""
    if event["accelerator"] in RUNTIMES:
        return None
    waker = event["waker"]
    level = event["level"]
    return SeenWake(
        accelerator=event["accelerator"],
        level=Level(level) if level else None,
        waker=_inferred(waker) if frames is None else _witnessed(waker, trimmed(frames)),
    )


def fork(event: Event) -> SeenFork:
    """Return the fork that an event describes, with the things that the process held."""
    purpose = Purpose(event.get("purpose", Purpose.PLAIN))
    things = [held(one["name"], doubtful=one["doubtful"]) for one in event.get("holds", ())]
    does = {name: Deed.read(one) for name, one in event.get("does", {}).items()}
    verdicts = {one.name: judge(one, purpose, does) for one in things}
    return SeenFork(awake_in(event["states"]), event["thread"], trimmed(event["stack"]), verdicts)


def awake_in(states: Sequence[Event]) -> tuple[str, ...]:
    """Return the devices among these states that are awake."""
    return tuple(
        str(state["accelerator"])
        for state in states
        if state["status"] == Status.AWAKE and state["accelerator"] not in RUNTIMES
    )


def trimmed(events: Sequence[Event]) -> tuple[Frame, ...]:
    """Return the frames between those of the test runner and those of coldfork's virtual device."""
    frames = [Frame(event["path"], event["line"], event["function"]) for event in events]
    last = max((at for at, frame in enumerate(frames) if frame.path.startswith(_PLUGGY)), default=-1)
    behind = frames[last + 1 :]
    # Installed code may lead to a test, as pytest-asyncio does, or be the code under test.
    own = (
        at for at, frame in enumerate(behind) if not _leads_in(frame.path) and not _is_installed(frame.path)
    )
    others = (at for at, frame in enumerate(behind) if not _leads_in(frame.path))
    start = next(own, next(others, 0))
    kept = takewhile(lambda frame: not frame.path.startswith(_OWN), behind[start:])
    return tuple(frame for frame in kept if not _is_machinery(frame.path))


def _witnessed(waker: Event, frames: tuple[Frame, ...]) -> Waker:
    """Return the waker according to the stack, because the watch does not see pytest's imports of test
    modules.
    """
    bodies = [at for at, frame in enumerate(frames) if frame.function == BODY]
    site = _site(frames, bodies[-1]) if bodies else 0
    here = frames[site] if frames else None
    names = modules_by_path()
    # A call outside of imports requested the outermost import.
    asker = [bodies[0] - 1] if bodies and bodies[0] else []
    chain = [
        ImportSite(names.get(frames[at].path) or Path(frames[at].path).stem, frames[at].path, frames[at].line)
        for at in [*asker, *bodies]
    ]
    if chain and here is not None:
        chain[-1] = ImportSite(chain[-1].module, here.path, here.line)
    return Waker(
        module=chain[-1].module if chain else None,
        path=here.path if here else None,
        line=here.line if here else None,
        function=here.function if here else None,
        call=waker["call"],
        thread=waker["thread"],
        import_chain=tuple(chain),
        stack=frames[site:],
    )


def _site(frames: Sequence[Frame], body: int) -> int:
    """Return the import-time line of the module with this body, in the body or in a class inside it."""
    at = body
    while at + 1 < len(frames):
        inner = frames[at + 1]
        name = inner.function.rpartition(".")[2]
        if inner.path != frames[body].path or not is_class_body(inner.path, name, inner.line):
            break
        at += 1
    return at


def _inferred(waker: Event) -> Waker:
    chain = tuple(
        ImportSite(site["module"] or "?", site["path"], site["line"])
        for site in waker["import_chain"]
        if not site["path"] or not _leads_in(site["path"])
    )
    stack = trimmed(waker["stack"])
    first = stack[0] if stack and not chain else None
    return Waker(
        module=waker["module"] if chain else None,
        path=first.path if first else waker["path"],
        line=first.line if first else waker["line"],
        function=first.function if first else waker["function"],
        call=waker["call"],
        thread=waker["thread"],
        import_chain=chain,
        stack=stack,
    )


def _leads_in(path: str) -> bool:
    """Return whether a frame merely leads to a test: it belongs to the runner or to the standard library."""
    return _is_machinery(path) or _is_standard(path)


def _is_machinery(path: str) -> bool:
    if path.startswith("<frozen ") or path in ("<string>", "<stdin>"):
        return True
    names = Path(path).parts
    return any(runner in names[:-1] or f"{runner}.py" == names[-1] for runner in _RUNNERS) and (
        _is_installed(path)
    )


def _is_standard(path: str) -> bool:
    return path.startswith(_STANDARD) and not any(name in path for name in _INSTALLED)


def _is_installed(path: str) -> bool:
    return path.startswith(_STANDARD) or any(name in path for name in _INSTALLED)


_MOST = 1 << 20


class TouchFile:
    """An unnamed file that all forked children share, to which they write lines for the test run."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115
        self._home = os.getpid()
        self._read = 0

    @property
    def is_child(self) -> bool:
        """Return whether this process is a fork of the test run."""
        return os.getpid() != self._home

    def write(self, fork: int, accelerator: str, leaves: bool) -> None:
        """In a child, write the number of its fork, the accelerator that was touched, and whether the error
        left.
        """
        line = json.dumps({"fork": fork, "accelerator": accelerator, "leaves": leaves}) + "\n"
        os.write(self._file.fileno(), line.encode("utf-8"))

    def new(self) -> Iterator[tuple[int, str, bool]]:
        """Yield new entries: the number of the fork, the accelerator, and whether the error left."""
        content = os.pread(self._file.fileno(), _MOST, self._read)
        whole = content[: content.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.splitlines():
            said: dict[str, Any] = json.loads(line)
            yield said["fork"], said["accelerator"], said["leaves"]

    def close(self) -> None:
        """Close the file."""
        self._file.close()
