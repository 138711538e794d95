"""The descriptors that came to a worker with the process that it runs."""

from __future__ import annotations


class Arrived:
    """The descriptors that came with the process that runs here; `current` is set once, in a worker."""

    current: Arrived | None = None

    def __init__(self, descriptors: list[int]) -> None:
        self.descriptors = descriptors
