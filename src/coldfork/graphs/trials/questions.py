"""What is asked of a fresh run: which batch, with which inputs, and what to tell of it."""

from __future__ import annotations

from dataclasses import dataclass

from coldfork.graphs.trials.beginning import View


@dataclass(frozen=True, slots=True)
class Level:
    """A value at which some inputs are tried: the host may compare it with a number of the program's."""

    value: int | float
    inputs: frozenset[int]
    """By their numbers."""
    everywhere: bool = True
    """Whether all elements hold it, or one."""


@dataclass(frozen=True, slots=True)
class Question:
    """One run of one batch from the state in which nothing of a capture had run."""

    number: int
    """Which of the batches."""
    inputs: tuple[View, ...]
    """The memory that holds another batch's values each time."""
    boldness: tuple[int, ...]
    """How far the values of each input may go."""
    seed: int
    kept: frozenset[int]
    """Memory that the program brings up to date for each batch."""
    written: frozenset[int]
    """Memory of before that the graph writes."""
    filling: float = 0.0
    """What memory holds that was only allocated."""
    compiled: bool = False
    """Whether functions that the program compiles run compiled."""
    traced: bool = False
    """Whether to tell of each operator."""
    deciding: bool = False
    """Whether to tell what came to the host, and what the program compares values with."""
    level: Level | None = None
    """Where inputs are tried beside a number of the program's."""
