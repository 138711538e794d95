"""What a decision looks at: this process, the machine, and the target. Tests make up others."""

from __future__ import annotations

import os
import sys
from _thread import _count as python_threads
from _thread import get_ident
from typing import TYPE_CHECKING, Any, Protocol

from coldfork.start.forkserver import Server, server
from coldfork.start.process.openmp_pools import belongs_to_this_thread
from coldfork.start.process.snapshot import HERE, Snapshot
from coldfork.start.process.wakers import WAKERS
from coldfork.start.static_reach.answers import ReachAnswer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from coldfork.model.states import Waker
    from coldfork.observe.probes.reading import Reading
    from coldfork.observe.probes.threads import NativeThread
    from coldfork.start.static_reach.answers import Reach
    from coldfork.start.targets import Target

_DEVICE_FILES = ("/dev/nvidia0", "/dev/nvidiactl", "/dev/kfd", "/dev/dxg", "/dev/dri/renderD128")


class Surroundings(Protocol):
    """What the evidence is gathered from."""

    @property
    def readings(self) -> Mapping[str, Reading]:
        """The state of every accelerator."""

    @property
    def strict(self) -> bool:
        """Whether a loaded framework and a visible device are reason enough."""

    @property
    def target(self) -> Target | None:
        """What the new process is to run, if that is known."""

    @property
    def threads(self) -> Sequence[NativeThread] | None:
        """The threads that Python did not start."""

    @property
    def python_threads(self) -> Sequence[str]:
        """The names of the other threads that Python did start."""

    @property
    def server(self) -> Server:
        """The forkserver of multiprocessing."""

    @property
    def methods(self) -> Sequence[str]:
        """The start methods of this platform."""

    @property
    def platform(self) -> str:
        """As `sys.platform` has it."""

    @property
    def release(self) -> str:
        """The release of the kernel."""

    @property
    def arguments(self) -> Sequence[str]:
        """The command line of the program."""

    def mine(self, worker: NativeThread) -> bool | None:
        """Whether a worker of libgomp belongs to the asking thread's pool."""

    def reach_of(self, target: Target) -> ReachAnswer:
        """What importing a target's module does to accelerators."""

    def module(self, name: str) -> Mapping[str, Any] | None:
        """The names in a module that the program has imported."""

    def setting(self, name: str) -> str | None:
        """A variable of the environment."""

    def device(self) -> str | None:
        """A device that the process could use, as far as can be seen without asking a driver."""

    def waker(self, accelerator: str) -> Waker | None:
        """Who woke this accelerator, if it was observed."""


def unasked(target: Target) -> ReachAnswer:
    """The answer of somebody who looks at no target."""
    return ReachAnswer.unknown(target.module, "it was not asked for")


class RealSurroundings:
    """This process, as it is when it is asked; `Surroundings` says what each of these is."""

    def __init__(
        self,
        *,
        strict: bool = False,
        target: Target | None = None,
        reach: Reach = unasked,
        snapshot: Snapshot = HERE,
    ) -> None:
        self._snapshot = snapshot
        self.readings: Mapping[str, Reading] = {one.accelerator: one for one in snapshot.readings()}
        self.strict = strict
        self.target = target
        self.reach_of = reach
        self.module = snapshot.module
        self.waker = WAKERS.of
        self.platform = sys.platform

    @property
    def threads(self) -> Sequence[NativeThread] | None:
        return self._snapshot.threads

    @property
    def python_threads(self) -> Sequence[str]:
        # Counted by the interpreter first: it costs nothing, and most processes have none.
        if not python_threads():
            return ()
        known = (self.module("threading") or {}).get("_active")
        me = get_ident()
        if not isinstance(known, dict):
            return ("a thread without a name",) * python_threads()
        return tuple(
            str(thread.name) for ident, thread in tuple(known.items()) if ident != me and thread.is_alive()
        )

    @property
    def server(self) -> Server:
        return server(self.module("multiprocessing.forkserver"))

    @property
    def methods(self) -> Sequence[str]:
        import multiprocessing

        return multiprocessing.get_all_start_methods()

    @property
    def release(self) -> str:
        return os.uname().release if hasattr(os, "uname") else ""

    @property
    def arguments(self) -> Sequence[str]:
        return getattr(sys, "argv", [])

    def mine(self, worker: NativeThread) -> bool | None:
        try:
            return belongs_to_this_thread(worker, self._snapshot.stacks())
        except Exception:
            # No `ctypes`, or a C library without these functions.
            return None

    def setting(self, name: str) -> str | None:
        return os.environ.get(name)

    def device(self) -> str | None:
        virtual = (self.module("coldfork.virtual.installation") or {}).get("installed")
        found = virtual() if virtual is not None else None
        if found is not None:
            return f"the virtual device {found.name}"
        return next((path for path in _DEVICE_FILES if os.path.exists(path)), None)
