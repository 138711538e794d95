"""What a capture takes over from its warm-up, by path and line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Literal

from coldfork.model.states import Frame

_MOST_LEAKS = 12
"""So many leaks of a batch are written out."""

_CLEAN = "clean: a replay computes what an eager run does, and leaves the same in memory"
_WRONG = "a replay would not do what an eager run does"
_NOT_DISPROVED = "a replay may not do what an eager run does, which could not be disproved"
_NOT_COMPARED = "not compared: whether a replay does what an eager run does is not known"


class LeakKind(StrEnum):
    """How something of the warm-up reaches a captured graph, or what else a replay would get wrong."""

    STATE = "state"
    """A Python value that warm-up set and the captured run sees."""
    MEMORY = "memory"
    """Memory that the graph reads, and that a warm-up run wrote last, or nothing did."""
    HOST_READ = "host-read"
    """A read of the device on the host, which a capture refuses."""
    SIDE_EFFECT = "side-effect"
    """Something that the captured run did to Python objects; no replay does it again."""
    CONSTANT = "constant"
    """A number that the graph holds as it was while capturing, and that is another one for another batch."""
    SKIPPED = "skipped"
    """Work that a fresh run of a batch does, and that the captured run left out."""


_ORIGINS = {
    LeakKind.CONSTANT: "comes from",
    LeakKind.HOST_READ: "came to the host at",
    LeakKind.SKIPPED: "left out at",
}


@dataclass(frozen=True, slots=True)
class Leak:
    """One thing that makes a replay differ from an eager run."""

    kind: LeakKind
    descriptor: str
    what: str
    """The path of the value or the operator that reads the memory."""
    message: str
    where: Frame | None = None
    """The line of the captured run that takes it."""
    origin: Frame | None = None
    """The line of the warm-up run that left it."""
    proven: bool = True
    """False where it was seen to be used, and no comparison could say whether that changes a result."""

    def __str__(self) -> str:
        lines = [f"[{self.kind}] {self.message}"]
        if self.where is not None:
            lines.append(f"  read at {_written(self.where)}")
        if self.origin is not None:
            lines.append(f"  {_ORIGINS.get(self.kind, 'left there by')} {_written(self.origin)}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class NotCompared:
    """Something of which nobody knows whether a replay does with it what an eager run does."""

    descriptor: str
    what: str
    """Its name: of an input, of a value by its path, or `results` for the whole batch."""
    why: str
    remedy: str
    """How it can be compared."""
    reason: str = ""
    """Why the caller allows it."""

    def __str__(self) -> str:
        if self.reason:
            return f"{self.descriptor}: {self.what} was not compared, which is allowed: {self.reason}"
        why = f"{self.descriptor}: {self.what} was not compared: {self.why}"
        return f"{why}\n  to have it compared, {self.remedy}"


@dataclass(frozen=True, slots=True)
class Report:
    """All that was found for some batches."""

    leaks: tuple[Leak, ...] = ()
    lazy: tuple[str, ...] = ()
    """What warm-up set and capture sees, and what changes nothing in the graph as far as was seen."""
    not_compared: tuple[NotCompared, ...] = ()
    """What could not be compared with an eager run, and why."""
    allowed: tuple[NotCompared, ...] = ()
    """The part of it that the caller allowed, by name and with a reason."""

    @property
    def answer(self) -> Literal["leaks", "not compared", "clean"]:
        """The worst of what was found; `clean` only where everything was compared."""
        if self.leaks:
            return "leaks"
        return "not compared" if self.not_compared else "clean"

    def allowing(self, allowed: Mapping[str, str]) -> Report:
        """The same when some things need not be compared; a name may hold `*` for any text."""
        given = [
            replace(one, reason=reason)
            for one in self.not_compared
            if (reason := next((why for name, why in allowed.items() if fnmatchcase(one.what, name)), ""))
        ]
        names = {(one.descriptor, one.what) for one in given}
        left = tuple(one for one in self.not_compared if (one.descriptor, one.what) not in names)
        return replace(self, not_compared=left, allowed=(*self.allowed, *given))

    def __str__(self) -> str:
        notes = [str(one) for one in (*self.not_compared, *self.allowed)]
        if not self.leaks:
            first = _NOT_COMPARED if self.not_compared else _CLEAN
            return "\n".join((first, *notes))
        lines: list[str] = []
        for batch in dict.fromkeys(leak.descriptor for leak in self.leaks):
            of_batch = [leak for leak in self.leaks if leak.descriptor == batch]
            proven = any(leak.proven for leak in of_batch)
            lines.append(f"{batch}: {_WRONG if proven else _NOT_DISPROVED}")
            lines += [_indented(str(leak)) for leak in of_batch[:_MOST_LEAKS]]
            if len(of_batch) > _MOST_LEAKS:
                lines.append(f"  and {len(of_batch) - _MOST_LEAKS} more, in .leaks")
        lines.append(
            "make the state anew for the capture (create_forward is called once for each phase), or name the "
            "tensors that the program keeps up to date itself in persistent="
        )
        lines += notes
        return "\n".join(lines)


def joined(reports: Iterable[Report]) -> Report:
    """What was found for several batches, as one."""
    every = tuple(reports)
    return Report(
        tuple(leak for report in every for leak in report.leaks),
        tuple(dict.fromkeys(text for report in every for text in report.lazy)),
        tuple(dict.fromkeys(one for report in every for one in report.not_compared)),
        tuple(dict.fromkeys(one for report in every for one in report.allowed)),
    )


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def _written(frame: Frame) -> str:
    return f"{frame.path}:{frame.line} in {frame.function}"
