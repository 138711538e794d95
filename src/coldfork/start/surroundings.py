"""The facts on which a decision is based: this process, the machine and the target; tests replace them."""

from __future__ import annotations

import os
import sys
from _thread import _count as python_threads
from typing import TYPE_CHECKING, Any

from coldfork.model.forking.judgement import NOTHING_KNOWN, Purpose
from coldfork.observe.forking.idle_threads import other_threads
from coldfork.observe.probes.openmp_pools import belongs_to_this_thread
from coldfork.start.forkserver import Server, server
from coldfork.start.process import HERE, Snapshot
from coldfork.start.static_reach.answers import ReachAnswer
from coldfork.start.wakers import WAKERS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from coldfork.model.forking.judgement import Deed
    from coldfork.model.states import Waker
    from coldfork.observe.forking.idle_threads import PythonThread
    from coldfork.observe.probes.reading import Reading
    from coldfork.observe.probes.threads import NativeThread
    from coldfork.start.static_reach.answers import Reach
    from coldfork.start.targets import Target

_DEVICE_FILES = ("/dev/nvidia0", "/dev/nvidiactl", "/dev/kfd", "/dev/dxg", "/dev/dri/renderD128")


def unasked(target: Target) -> ReachAnswer:
    """Return the answer for callers that do not examine targets."""
    return ReachAnswer.unknown(target.module, "it was not asked")


class Surroundings:
    """This process at the moment of the decision, the source of all evidence."""

    def __init__(
        self,
        *,
        strict: bool = False,
        target: Target | None = None,
        reach: Reach = unasked,
        deeds: Callable[[], Mapping[str, Deed]] = lambda: NOTHING_KNOWN,
        snapshot: Snapshot = HERE,
    ) -> None:
        self._snapshot = snapshot
        self.readings: Mapping[str, Reading] = {one.accelerator: one for one in snapshot.readings()}
        """The state of every accelerator."""
        self.strict = strict
        """Whether a loaded framework and a visible device are reason enough."""
        self.target = target
        """The target of the new process, if it is known."""
        self.reach_of = reach
        """The function that returns whether importing a target's module wakes a device."""
        self.deeds = deeds
        """The function that returns what the target will certainly touch."""
        self.threads: Sequence[NativeThread] | None = snapshot.threads
        """The threads that were not started by Python."""
        self.module: Callable[[str], Mapping[str, Any] | None] = snapshot.module
        """The function that returns the contents of a module, if the program has imported it."""
        self.setting: Callable[[str], str | None] = snapshot.setting
        """The function that returns an environment variable."""
        self.waker: Callable[[str], Waker | None] = WAKERS.of
        """The function that returns the code that woke an accelerator, if the wake was observed."""
        self.platform: str = sys.platform
        self.release: str = os.uname().release if hasattr(os, "uname") else ""
        """The release of the kernel."""
        self.arguments: Sequence[str] = getattr(sys, "argv", [])
        """The command line of the program."""

    @property
    def purpose(self) -> Purpose:
        """Return the purpose that a forked child would have."""
        return Purpose.PLAIN if self.target is None else self.target.purpose

    @property
    def python_threads(self) -> Sequence[PythonThread]:
        """Return the other threads that Python started."""
        # The interpreter's count is read first: it costs nothing, and most processes have no other threads.
        if not python_threads():
            return ()
        known = (self.module("threading") or {}).get("_active")
        return other_threads(dict(known) if isinstance(known, dict) else {})

    @property
    def server(self) -> Server:
        """Return the forkserver of multiprocessing."""
        return server(self.module("multiprocessing.forkserver"))

    @property
    def methods(self) -> Sequence[str]:
        """Return the start methods of this platform."""
        import multiprocessing

        return multiprocessing.get_all_start_methods()

    def mine(self, worker: NativeThread) -> bool | None:
        """Return whether a worker thread of libgomp belongs to the calling thread's pool."""
        try:
            return belongs_to_this_thread(worker, self._snapshot.stacks())
        except Exception:
            # Python has no `ctypes`, or the C library lacks these functions.
            return None

    def device(self) -> str | None:
        """Return a device that the process could use, as far as this can be known without asking a driver."""
        virtual = (self.module("coldfork.virtual.installation") or {}).get("installed")
        found = virtual() if virtual is not None else None
        if found is not None:
            return f"the virtual device {found.name}"
        return next((path for path in _DEVICE_FILES if os.path.exists(path)), None)
