"""The report of a check: leaks from a warm-up into a capture, with paths and lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Literal

from coldfork.model.states import Frame

_MOST_LEAKS = 12
"""The most leaks of a batch that are listed."""

_CLEAN = "clean: a replay computes what an eager run does, and leaves the same in memory"
_WRONG = "a replay would not do what an eager run does"
_NOT_DISPROVED = "a replay may differ from an eager run; this could not be ruled out"
_NOT_COMPARED = "not compared: it is unknown whether a replay does what an eager run does"


class LeakKind(StrEnum):
    """How a warm-up affects a captured graph, or how a replay goes wrong."""

    STATE = "state"
    """A Python value that warm-up set and that is visible to the captured run."""
    MEMORY = "memory"
    """Memory that the graph reads, and that only a warm-up run has written, or nothing."""
    HOST_READ = "host-read"
    """A read of device memory on the host, which a capture refuses."""
    SIDE_EFFECT = "side-effect"
    """A change to Python objects in the captured run, which no replay repeats."""
    CONSTANT = "constant"
    """A number that the graph keeps from its capture, although it differs for other batches."""
    SKIPPED = "skipped"
    """Work that a fresh run of a batch does and that the captured run skipped."""


_ORIGINS = {
    LeakKind.CONSTANT: "comes from",
    LeakKind.HOST_READ: "came to the host at",
    LeakKind.SKIPPED: "left out at",
}


@dataclass(frozen=True, slots=True)
class Leak:
    """Something that makes a replay depend on the warm-up, and so differ from an eager run."""

    kind: LeakKind
    descriptor: str
    what: str
    """The path of the value, or the name of the operator that reads the memory."""
    message: str
    where: Frame | None = None
    """The line of the captured run that uses the value or memory."""
    origin: Frame | None = None
    """The line of the warm-up run that left the value or memory."""
    proven: bool = True
    """False if it is used, but no comparison could show whether this changes a result."""

    def __str__(self) -> str:
        lines = [f"[{self.kind}] {self.message}"]
        if self.where is not None:
            lines.append(f"  read at {_written(self.where)}")
        if self.origin is not None:
            lines.append(f"  {_ORIGINS.get(self.kind, 'left there by')} {_written(self.origin)}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class NotCompared:
    """An input, a value or all results for which a replay could not be compared with an eager run."""

    descriptor: str
    what: str
    """The name of an input, the path of a value, or `results` for the whole batch."""
    why: str
    remedy: str
    """How to make it comparable."""
    reason: str = ""
    """Why the caller allows this; empty if it is not allowed."""

    def __str__(self) -> str:
        if self.reason:
            return f"{self.descriptor}: {self.what} was not compared, which is allowed: {self.reason}"
        why = f"{self.descriptor}: {self.what} was not compared: {self.why}"
        return f"{why}\n  to have it compared, {self.remedy}"


@dataclass(frozen=True, slots=True)
class Report:
    """All leaks and gaps found for some batches."""

    leaks: tuple[Leak, ...] = ()
    lazy: tuple[str, ...] = ()
    """Values that the warm-up set and the capture sees, but without any observed effect on the graph."""
    not_compared: tuple[NotCompared, ...] = ()
    """The things that could not be compared with an eager run, and why."""
    allowed: tuple[NotCompared, ...] = ()
    """The ones of these that the caller allowed, by name and with a reason."""

    @property
    def answer(self) -> Literal["leaks", "not compared", "clean"]:
        """The worst result of all batches; `clean` only if everything was compared."""
        if self.leaks:
            return "leaks"
        return "not compared" if self.not_compared else "clean"

    def allowing(self, allowed: Mapping[str, str]) -> Report:
        """Return the report with the gaps of these names allowed; `*` in a name stands for any text."""
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
            "make the state anew for the capture (create_forward is called once for each phase), or list "
            "in persistent= the tensors that the program itself keeps up to date"
        )
        lines += notes
        return "\n".join(lines)


def joined(reports: Iterable[Report]) -> Report:
    """Merge the reports on several batches into one."""
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
