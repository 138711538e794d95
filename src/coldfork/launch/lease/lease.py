"""What was leased for one worker; whoever only passes it on loads nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Lease:
    """The devices of one worker, which are its own until they are given back or this process ends."""

    device: str
    """For people and reports: `GPU-8f1c... (place 3)`."""
    variables: Mapping[str, str]
    """What the worker's environment needs, such as `{"CUDA_VISIBLE_DEVICES": "GPU-8f1c..."}`."""
    _give_back: Callable[[], None] = field(repr=False, compare=False)

    def release(self) -> None:
        """Give the devices back; nothing happens the second time, or in a process forked from the holder."""
        self._give_back()
