"""A demonstration: the files that it writes, and what is typed about them with what result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """Something that a reader could type in the folder of the demonstration."""

    why: str
    """The sentence that stands before it."""
    line: str
    """`coldfork ...` or `python ...`."""
    status: int
    """How it ends when all is as told."""
    says: str
    """What its output has to hold."""

    @property
    def needs_device(self) -> bool:
        """Whether it runs a program on the virtual device."""
        return "--virtual" in self.line


@dataclass(frozen=True, slots=True)
class Edit:
    """A line that is changed by hand."""

    why: str
    file: str
    old: str
    new: str


Step = Command | Edit


@dataclass(frozen=True, slots=True)
class Demo:
    """A walk through some steps."""

    title: str
    files: Mapping[str, str]
    stages: tuple[tuple[Step, ...], ...]
    """Steps of one stage do not depend on each other, and are run at the same time."""

    def shown(self) -> Iterator[str]:
        """The files that a reader may want to look at."""
        for name in self.files:
            if name.endswith((".py", ".log")) and not name.endswith("__init__.py"):
                yield name


@dataclass(frozen=True, slots=True)
class Machine:
    """What this machine has that makes a difference."""

    torch: bool
    """Whether PyTorch can be imported."""
    driver: bool
    """Whether the virtual device has a driver library, for programs that do without torch."""

    @property
    def device(self) -> bool:
        """Whether a program can be run on the virtual device."""
        return self.torch or self.driver
