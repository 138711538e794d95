"""Surroundings that a test makes up: a process with the states, threads, modules and variables it wants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from coldfork.model.forking.judgement import NOTHING_KNOWN, Deed
from coldfork.model.states import Waker
from coldfork.observe.probes.examination import ORDER
from coldfork.observe.probes.reading import Reading
from coldfork.observe.probes.threads import NativeThread
from coldfork.start.forkserver import Server
from coldfork.start.static_reach.answers import ReachAnswer, Reached
from coldfork.start.surroundings import Surroundings
from coldfork.start.targets import Target


class MadeUpSurroundings(Surroundings):
    """A quiet process on Linux in which nothing is loaded, until a test changes it."""

    python_threads: Any = ()
    server: Server = Server()
    methods: Sequence[str] = ("fork", "spawn", "forkserver")

    def __init__(self) -> None:
        self.readings: dict[str, Reading] = {name: Reading(name, "absent") for name in ORDER}
        self.strict = False
        self.target: Target | None = None
        self.threads: list[NativeThread] | None = []
        self.python_threads = []
        self.platform = "linux"
        self.release = "6.1.0"
        self.arguments: list[str] = ["program"]
        self.reach_of = self._answer
        self.deeds: Callable[[], Mapping[str, Deed]] = lambda: NOTHING_KNOWN
        self.modules: dict[str, dict[str, Any]] = {}
        self.module = self.modules.get
        self.settings: dict[str, str] = {}
        self.setting = self.settings.get
        self.devices: list[str] = []
        self.wakers: dict[str, Waker] = {}
        self.waker = self.wakers.get
        self.owners: dict[int, bool | None] = {}
        """For each worker of libgomp whether it is in the asking thread's pool."""
        self.answers: dict[str, ReachAnswer] = {}
        self.asked: list[str] = []
        """The modules that were asked about."""

    def turn(self, accelerator: str, status: str, **more: Any) -> None:
        """Give one accelerator a state."""
        self.readings[accelerator] = Reading(accelerator, status, **more)

    def thread(self, library: str | None, name: str = "thread", *, mine: bool | None = None) -> None:
        """Start a thread of a library."""
        if self.threads is None:
            self.threads = []
        tid = 100 + len(self.threads)
        self.threads.append(NativeThread(tid, name, library))
        self.owners[tid] = mine

    def mine(self, worker: NativeThread) -> bool | None:
        return self.owners[worker.tid]

    def _answer(self, target: Target) -> ReachAnswer:
        self.asked.append(target.module)
        return self.answers.get(target.module, ReachAnswer(target.module, Reached.NOTHING))

    def device(self) -> str | None:
        return self.devices[0] if self.devices else None


def thing(**attributes: Any) -> Any:
    """An object of somebody else's with these attributes."""
    return SimpleNamespace(**attributes)
