"""The parts of a demonstration: the files that it writes, and the commands to type, with their results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """A command to type in the folder of the demonstration."""

    why: str
    """The sentence that introduces it."""
    line: str
    """`coldfork ...` or `python ...`."""
    status: int
    """The exit status that the command should have."""
    says: str
    """A text that the command's output must contain."""

    @property
    def needs_device(self) -> bool:
        """Whether this command runs a program on the virtual device."""
        return "--virtual" in self.line


@dataclass(frozen=True, slots=True)
class Edit:
    """A manual change of a line."""

    why: str
    file: str
    old: str
    new: str


Step = Command | Edit


@dataclass(frozen=True, slots=True)
class Demo:
    """A demonstration in stages."""

    title: str
    files: Mapping[str, str]
    stages: tuple[tuple[Step, ...], ...]
    """The steps in stages; the steps of one stage are independent, and run at the same time."""

    def shown(self) -> Iterator[str]:
        """Yield the files that a reader may want to see."""
        for name in self.files:
            if name.endswith((".py", ".log")) and not name.endswith("__init__.py"):
                yield name


@dataclass(frozen=True, slots=True)
class Machine:
    """The features of this machine that affect a demonstration."""

    torch: bool
    """Whether PyTorch can be imported."""
    driver: bool
    """Whether the virtual device has a driver library, for programs without torch."""

    @property
    def device(self) -> bool:
        """Whether a program can be run on the virtual device."""
        return self.torch or self.driver
