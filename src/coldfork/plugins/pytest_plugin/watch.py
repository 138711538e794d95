"""The watch of one pytest process, which reports wakes and forks since the last check."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from coldfork.model.forking.judgement import Judgement, went_on
from coldfork.model.timelines import TOUCHES
from coldfork.observe.probing import RUNTIMES
from coldfork.observe.watch import MAIN, Watch, watch
from coldfork.plugins.pytest_plugin import sightings
from coldfork.plugins.pytest_plugin.sightings import Event, SeenFork, SeenWake, TouchFile


@dataclass(frozen=True, slots=True)
class Since:
    """The wakes and forks since the last check, in order."""

    wakes: tuple[SeenWake, ...] = ()
    forks: tuple[SeenFork, ...] = ()


@dataclass(slots=True)
class _Seen:
    wakes: list[SeenWake] = field(default_factory=list)
    forks: list[SeenFork] = field(default_factory=list)


class Watching:
    """A watch of this process, which begins when the object is made."""

    def __init__(self, *, exact: bool, follow: bool, strict: bool = False) -> None:
        self._least = Judgement.BREAKS_IF if strict else Judgement.BREAKS
        self._touches = TouchFile()
        self._pending: dict[int, SeenFork] = {}
        """The forks for which no test has failed yet, by their number."""
        self._children: dict[int, int] = {}
        """The number of the fork that made each child, by the child's pid."""
        self._caught: dict[int, str] = {}
        """Devices that children touched without the error leaving them so far, by the number of
        their fork.
        """
        self.recovered: Counter[str] = Counter()
        """Devices that children touched before they ended well without it, with the number of children."""
        self.conditions: Counter[tuple[str, bool]] = Counter()
        """Conditions that break children, each with whether the child notices; with the number of forks."""
        self._frames: Sequence[Event] | None = None
        self._seen = _Seen()
        self._claimed: set[str] = set()
        self.forks: int = 0
        """The number of forks so far, including those while every device was cold."""
        self.awake_forks: int = 0
        self.troubles: list[str] = []
        self._own_threads = frozenset(sys._current_frames())
        self._watch: Watch = watch(
            self._sink,
            imports=False,
            follow=follow,
            stage2=(MAIN,) if exact else (),
            base=MAIN if exact else None,
            ends=True,
        )
        self.awake_before: tuple[str, ...] = sightings.awake_in(self._watch.states())
        """The devices that were awake when the watch began, so that their wakers were not seen."""
        self._claimed.update(self.awake_before)
        self._hear_witness()

    def since(self) -> Since:
        """Check now, and return the wakes and forks since the previous call."""
        self._watch.poll()
        self._hear_touches()
        seen, self._seen = self._seen, _Seen()
        return Since(tuple(seen.wakes), tuple(seen.forks))

    def _hear_touches(self) -> None:
        for number, accelerator, leaves in self._touches.new():
            if leaves:
                self._caught.pop(number, None)
                self._fail(number, accelerator)
            elif number in self._pending:
                self._caught[number] = accelerator

    def _fail(self, number: int, accelerator: str) -> None:
        touched = self._pending.pop(number, None)
        if touched is not None:
            self._seen.forks.append(replace(touched, touched=accelerator))

    def _ended(self, event: Event) -> None:
        """Record the end of a child; if it touched a device, it has now failed, or succeeded without the
        device.
        """
        number = self._children.pop(event["pid"], None)
        self._hear_touches()
        accelerator = None if number is None else self._caught.pop(number, None)
        if number is None or accelerator is None:
            return
        if went_on(False, event["status"], event["signal"]):
            self.recovered[accelerator] += 1
        else:
            self._fail(number, accelerator)

    def unsettled(self) -> Counter[str]:
        """Return the devices touched by children that caught the error and whose end was not seen."""
        self._hear_touches()
        return Counter(self._caught.values())

    def unknown(self) -> tuple[str, ...]:
        """Return the devices whose state is unknown, and why."""
        return tuple(
            f"{state['accelerator']}: {state['reason']}"
            for state in self._watch.states()
            if state["status"] == "unknown" and state["accelerator"] not in RUNTIMES
        )

    def later_threads(self) -> frozenset[str]:
        """Return the names of threads that started after the watch began, except the main thread."""
        active = getattr(sys.modules.get("threading"), "_active", {})
        idents = set(sys._current_frames()) - self._own_threads
        return frozenset(getattr(active.get(ident), "name", f"thread {ident}") for ident in idents)

    def look_closely(self, wanted: bool) -> None:
        """Start or stop watching every call, if exact lines were requested."""
        self._watch.look_closely(wanted)

    def stop(self) -> None:
        """End the watch and restore everything."""
        self._watch.stop()
        self._touches.close()

    def _hear_witness(self) -> None:
        """Learn from CUDA itself which line initialises it; this needs a C compiler."""
        try:
            from coldfork.observe.injection import build

            library = build()
        except Exception:  # not every system supports the injection library
            return
        if library is None:
            return
        self._watch.bear_witness(library)
        attribution = self._watch.attribution
        witness: Callable[[str], Any] = attribution.witness

        def listening(accelerator: str) -> Any:
            seen = witness(accelerator)
            self._frames = None if seen is None else seen.frames
            return seen

        attribution.witness = listening

    def _sink(self, event: Event) -> None:
        kind = event["event"]
        if kind == "wake":
            self._woke(event)
        elif kind == "fork":
            self._forked(sightings.fork(event))
        elif kind == "effect" and event["kind"] == TOUCHES and self._touches.is_child:
            self._touches.write(self.forks, event["what"], event["leaves"])
        elif kind == "forked":
            self._children[event["child"]] = event["number"]
        elif kind == "exit":
            self._ended(event)
        elif kind == "trouble":
            self.troubles.append(f"{event['what']}: {event['detail']}")
        elif kind == "process" and event["how"] == "fork":
            # A forked child that runs tests starts over, with nothing to report.
            self._claimed.clear()
            self._seen = _Seen()

    def _forked(self, fork: SeenFork) -> None:
        self.forks += 1
        for verdict in fork.verdicts.values():
            if verdict.judgement is Judgement.BREAKS_IF:
                self.conditions[verdict.condition or "", verdict.watched] += 1
        if not fork.awake:
            return
        self.awake_forks += 1
        if fork.judgement.rank >= self._least.rank:
            self._seen.forks.append(fork)
        else:
            self._pending[self.forks] = fork

    def _woke(self, event: Event) -> None:
        frames, self._frames = self._frames, None
        wake = sightings.wake(event, frames)
        if wake is None:
            return
        if wake.accelerator in self._claimed:
            self._deepen(wake)
            return
        self._claimed.add(wake.accelerator)
        self._seen.wakes.append(wake)

    def _deepen(self, later: SeenWake) -> None:
        """Merge the wake of a driver with the context that follows: it is one wake, reported once."""
        for at, wake in enumerate(self._seen.wakes):
            if wake.accelerator == later.accelerator:
                self._seen.wakes[at] = SeenWake(wake.accelerator, later.level or wake.level, wake.waker)


class Exact:
    """Hooks that watch every call, but only in users' code, because watching pytest's own costs much more."""

    def __init__(self, watching: Watching) -> None:
        self._watching = watching
        watching.look_closely(False)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self) -> Generator[None, object, object]:
        """Watch the bodies of tests and fixtures, including what a fixture does after its yield."""
        self._watching.look_closely(True)
        try:
            return (yield)
        finally:
            self._watching.look_closely(False)

    pytest_fixture_setup = pytest_runtest_call
    pytest_runtest_teardown = pytest_runtest_call
