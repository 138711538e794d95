"""What a capture takes over from its warm-up, by path and line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from coldfork.model.states import Frame

_MOST_LEAKS = 12
"""So many leaks of a batch are written out."""


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

    def __str__(self) -> str:
        lines = [f"[{self.kind}] {self.message}"]
        if self.where is not None:
            lines.append(f"  read at {_written(self.where)}")
        if self.origin is not None:
            lines.append(f"  {_ORIGINS.get(self.kind, 'left there by')} {_written(self.origin)}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Report:
    """All that was found for some batches."""

    leaks: tuple[Leak, ...] = ()
    lazy: tuple[str, ...] = ()
    """What warm-up set and capture sees, and what changes nothing in the graph as far as was seen."""
    unsure: tuple[str, ...] = ()
    """What could not be compared with an eager run, and why."""

    def __str__(self) -> str:
        if not self.leaks:
            return "\n".join(("nothing of a warm-up is used by a captured graph", *self.unsure))
        lines: list[str] = []
        for batch in dict.fromkeys(leak.descriptor for leak in self.leaks):
            lines.append(f"{batch}: a replay would not do what an eager run does")
            of_batch = [leak for leak in self.leaks if leak.descriptor == batch]
            lines += [_indented(str(leak)) for leak in of_batch[:_MOST_LEAKS]]
            if len(of_batch) > _MOST_LEAKS:
                lines.append(f"  and {len(of_batch) - _MOST_LEAKS} more, in .leaks")
        lines.append(
            "make the state anew for the capture (create_forward is called once for each phase), or name the "
            "tensors that the program keeps up to date itself in persistent="
        )
        lines += self.unsure
        return "\n".join(lines)


def joined(reports: Iterable[Report]) -> Report:
    """What was found for several batches, as one."""
    every = tuple(reports)
    return Report(
        tuple(leak for report in every for leak in report.leaks),
        tuple(dict.fromkeys(text for report in every for text in report.lazy)),
        tuple(dict.fromkeys(text for report in every for text in report.unsure)),
    )


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def _written(frame: Frame) -> str:
    return f"{frame.path}:{frame.line} in {frame.function}"
