"""The state of the virtual driver in this process, kept in plain Python, and the devices that it shows."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import Protocol

from coldfork.model import visibility
from coldfork.virtual.profiles import Setup

SUCCESS = 0
NOT_INITIALISED = 3
NO_DEVICE = 100


class Driver(Protocol):
    """The interface of the virtual driver, which is implemented once in C and once in Python."""

    library: str | None
    """The shared library behind the driver; None if there is none."""

    def initialise(self) -> int:
        """Initialise the driver as `cuInit(0)` does, and return its code."""

    def state(self) -> str:
        """Return the state of the driver: `cold`, `awake` or `poisoned`."""

    def visible(self) -> tuple[int, ...]:
        """Return the devices that this process saw when it initialised the driver."""

    def retain(self, index: int) -> None:
        """Create the primary context of a visible device, unless it exists."""

    def has_context(self, index: int) -> bool:
        """Return whether a visible device has its primary context."""

    def watch_forks(self) -> None:
        """Forbid torch's CUDA in children forked from now on, even if the driver is cold."""

    def in_bad_fork(self) -> bool:
        """Return whether this process was forked after `watch_forks`."""

    def offer(self, offered: bool) -> None:
        """Offer the devices, or hide them from processes that have not yet initialised the driver."""


class PythonDriver:
    """The driver in Python, for use without a C compiler and for accelerators without a stub in C.

    The methods are described in `Driver`.

    Programs that use the driver directly, without torch, find no library.
    """

    library: str | None = None

    def __init__(self, setup: Setup, environment: Mapping[str, str] = os.environ) -> None:
        self._setup = setup
        self._environment = environment
        self._lock = threading.Lock()
        self._state = "cold"
        self._visible: tuple[int, ...] = ()
        self._contexts: set[int] = set()
        self._offered = True
        self._watching = False
        self._bad_fork = False
        os.register_at_fork(after_in_child=self._after_fork)

    def initialise(self) -> int:
        """Wake the driver, unless this process sees no device or was forked from an awake process."""
        with self._lock:
            if self._state == "poisoned":
                return NOT_INITIALISED
            if self._state == "awake":
                return SUCCESS
            seen = self._see() if self._offered else ()
            if not seen:
                return NO_DEVICE
            self._visible, self._state = seen, "awake"
            return SUCCESS

    def state(self) -> str:
        return self._state

    def visible(self) -> tuple[int, ...]:
        return self._visible

    def retain(self, index: int) -> None:
        if self._state == "awake":
            self._contexts.add(index)

    def has_context(self, index: int) -> bool:
        return index in self._contexts

    def watch_forks(self) -> None:
        self._watching = True

    def in_bad_fork(self) -> bool:
        return self._bad_fork

    def offer(self, offered: bool) -> None:
        self._offered = offered

    def _see(self) -> tuple[int, ...]:
        count = self._setup.count
        if self._setup.profile.accelerator != "rocm":
            return visible(self._environment.get("CUDA_VISIBLE_DEVICES"), count)
        # ROCR, the layer below HIP, hides devices first; HIP numbers the remaining ones.
        left = visible(self._environment.get("ROCR_VISIBLE_DEVICES"), count)
        setting = self._environment.get("HIP_VISIBLE_DEVICES", self._environment.get("CUDA_VISIBLE_DEVICES"))
        return tuple(left[index] for index in visible(setting, len(left)))

    def _after_fork(self) -> None:
        # Replaced: at the fork, a thread that does not exist in the child may have held the lock.
        self._lock = threading.Lock()
        if self._state == "awake":
            self._state = "poisoned"
        if self._watching:
            self._bad_fork = True


def uuid_of(ordinal: int) -> str:
    """Return a virtual device's UUID; the first digits differ, because people abbreviate UUIDs."""
    return f"c01df0{ordinal:02x}-5eed-4000-8000-0000000000{ordinal:02x}"


def visible(setting: str | None, count: int) -> tuple[int, ...]:
    """Return the ordinals of the virtual devices that a process sees, in its order."""
    return visibility.visible(setting, [f"GPU-{uuid_of(ordinal)}" for ordinal in range(count)])
