"""Record what a forked child inherits from a watched process, and what it touches."""

from __future__ import annotations

import os
import sys
from _thread import _count as count_threads
from _thread import get_ident

from coldfork.observe.forking import holdings, purposes
from coldfork.observe.forking.idle_threads import other_threads
from coldfork.observe.forking.touches import WRAPPED, Touches
from coldfork.observe.late_imports import LATE
from coldfork.observe.probes.openmp_pools import Stacks, belongs_to_this_thread
from coldfork.observe.probes.reading import ABSENT, AWAKE, COLD, POISONED, Reading
from coldfork.observe.stacks.frames import current

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import FrameType
    from typing import Any

    from coldfork.observe.forking.holding import Holding
    from coldfork.observe.forking.idle_threads import PythonThread
    from coldfork.observe.probes.process import ProbedProcess
    from coldfork.observe.probes.threads import NativeThread
    from coldfork.observe.recording.events import Event

TOUCHES = "touches-poisoned"
"""The kind of effect of a child that uses what its parent held."""

_SIGNS = ("re-initialize", "initialization error", "not initialized", "not_initialized", "forked")
"""Phrases in errors that a fork has caused; other errors may concern a device, too."""

_ASLEEP = (ABSENT, COLD)
_SHOWN_BY_MODULES = ("grpc", "numba.np.ufunc.parallel")
"""Modules after whose import something may be held even if no accelerator is awake."""


class ChildWatch:
    """Examines each fork before it happens, and catches errors about held things in the child."""

    def __init__(self, tell: Callable[[Event], None]) -> None:
        self._tell = tell
        self._handed_on: dict[int, list[str]] = {}
        self._touches = Touches(self._touched)
        self._told: set[tuple[str, bool]] = set()

    def before(self, states: Sequence[Event], frame: FrameType | None) -> Event:
        """Return what a child forked now would inherit, and its purpose, as entries of a recording."""
        awake = [str(one["accelerator"]) for one in states if one["status"] in (AWAKE, POISONED)]
        self._handed_on[get_ident()] = awake
        asked = (
            count_threads() > 0
            or any(one["status"] not in _ASLEEP for one in states)
            or any(name in sys.modules for name in _SHOWN_BY_MODULES)
        )
        held = holdings.held(_Here(states)) if asked else []
        return {
            "purpose": purposes.purpose_of(frame),
            "holds": [one.as_object() for one in held],
            "does": _known_deeds(held, frame) if held else {},
        }

    def in_parent(self) -> None:
        """Clear up after the fork, in the process that forked."""
        self._handed_on.pop(get_ident(), None)

    def in_child(self) -> None:
        """In the child, after the fork, catch errors about runtimes that were awake in the parent."""
        handed_on = self._handed_on.pop(get_ident(), [])
        self._handed_on.clear()
        self._told.clear()
        self._touches.arm(handed_on)

    def loaded(self, name: str) -> None:
        """Note that a module has been loaded."""
        if name in WRAPPED:
            self._touches.loaded(name)

    def _touched(self, error: BaseException, accelerator: str, leaves: bool) -> None:
        told = accelerator, leaves
        if told in self._told or not any(sign in str(error).lower() for sign in _SIGNS):
            return
        self._told.add(told)
        event: Event = {"event": "effect", "kind": TOUCHES, "what": accelerator, "leaves": leaves}
        self._tell({**event, "stack": _frames_of(error) or current(sys._getframe())})


class _Here:
    """This process as a `Holder`, with states that were just read."""

    def __init__(self, states: Iterable[Event]) -> None:
        # In a watched program this module has already been imported.
        LATE.load("coldfork.observe.states")
        from coldfork.observe.states import examination

        self._examination = examination()
        self._process: ProbedProcess = self._examination.process()
        self._stacks: Stacks | None = None
        readings = [Reading(**one) for one in states]
        self.readings: Mapping[str, Reading] = {one.accelerator: one for one in readings}
        self.threads: Sequence[NativeThread] | None = self._process.threads
        self.module: Callable[[str], Mapping[str, Any] | None] = self._process.module
        self.setting: Callable[[str], str | None] = self._process.setting

    @property
    def python_threads(self) -> Sequence[PythonThread]:
        return other_threads(getattr(sys.modules.get("threading"), "_active", {})) if count_threads() else ()

    def mine(self, worker: NativeThread) -> bool | None:
        try:
            if self._stacks is None:
                first = self._process.maps.main_stack if self._process.forked is False else None
                self._stacks = Stacks(self._examination.loader(), lambda: first)
            return belongs_to_this_thread(worker, self._stacks)
        except Exception:
            # Python has no `ctypes`, or the C library lacks these functions.
            return None


def _known_deeds(held: list[Holding], frame: FrameType | None) -> Event:
    """Return which of the held things the child is certain to touch."""
    # Imported here, because most programs hold nothing that matters when they fork.
    LATE.load("coldfork.observe.forking.bodies")
    LATE.load("coldfork.observe.forking.questions")
    from coldfork.observe.forking.bodies import bodies_at
    from coldfork.observe.forking.questions import BODIES, known_deeds

    found = known_deeds(held, lambda: BODIES(bodies_at(frame)))
    return {name: deed.as_object() for name, deed in found.items()}


def _frames_of(error: BaseException) -> list[Event]:
    """Return the frames that an error has passed or will pass, outermost first."""
    trace = error.__traceback__
    frames = current(None if trace is None else trace.tb_frame.f_back)
    while trace is not None:
        code = trace.tb_frame.f_code
        if trace.tb_frame.f_globals.get("__name__") == Touches.__module__:
            trace = trace.tb_next
            continue
        path = os.path.abspath(code.co_filename)
        frames.append({"path": path, "line": trace.tb_lineno, "function": code.co_qualname})
        trace = trace.tb_next
    return frames
