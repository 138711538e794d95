"""How long tasks run and wait, and workers take to start; counted where somebody has asked."""

from __future__ import annotations

from coldfork.launch.distribution import Distribution


class Durations:
    """In seconds. Added to with the dispatcher's lock held."""

    __slots__ = ("starts", "tasks", "waits")

    def __init__(self) -> None:
        self.tasks = Distribution()
        """From when a worker began with a task to its answer."""
        self.waits = Distribution()
        """From when a task was submitted to when a worker was given it."""
        self.starts = Distribution()
        """From when a worker was asked for to when it was ready."""
