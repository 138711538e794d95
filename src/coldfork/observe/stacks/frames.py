"""Read a thread's stack: its import-time lines, and the frames from such a line to a call."""

from __future__ import annotations

import os
import sys
from _thread import get_native_id
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from types import CodeType, FrameType
    from typing import TypeGuard

    from coldfork.observe.recording.events import Event

    Spot = tuple[FrameType, int]
    from typing import Any

    from coldfork.observe.recording.events import Ended


_MOST_WAITING = 256
_OWN = "coldfork.observe."
_LONGEST_WAIT = 0.25
"""In seconds: ended loads are reported after this time at the latest, because unreported ones are lost if the
process is killed.
"""


class Load:
    """A module that is being loaded. It is no dataclass, because thousands are made while a program
    starts.
    """

    __slots__ = ("name", "parent", "path", "spec", "start")

    def __init__(self, name: str, path: str | None, spec: Any, start: float, parent: Load | None) -> None:
        self.name: str = name
        self.path: str | None = path
        self.spec: Any = spec
        self.start: float = start
        self.parent: Load | None = parent


class EndedLoads:
    """Ended loads, which are reported together after a moment, because single reports would cost more."""

    __slots__ = ("_told", "waiting")

    def __init__(self) -> None:
        self.waiting: list[tuple[Load, float, int, int]] = []
        self._told = 0.0

    def add(self, load: Load, ended: float) -> bool:
        """Add a load; return True if it is time to report, because many loads wait or no import is in
        progress.
        """
        waiting = self.waiting
        waiting.append((load, ended, os.getpid(), get_native_id()))
        return load.parent is None or len(waiting) >= _MOST_WAITING or ended - self._told > _LONGEST_WAIT

    def take(self, began: float) -> list[Ended]:
        """Return the loads since the last call, oldest first, without the watch's own modules."""
        waiting, here, events = self.waiting, os.getpid(), []
        while waiting:
            try:
                load, ended, pid, tid = waiting.pop()
            except IndexError:  # another thread has taken the last load
                break
            # Loads of the parent that were copied by a fork unseen by Python are for the parent to report.
            if pid == here and not load.name.startswith(_OWN):
                parent = load.parent
                above, taken = None if parent is None else parent.name, ended - load.start
                events.append(
                    (load.name, load.path, load.start - began, taken, above, ended - began, pid, tid)
                )
        self._told = monotonic()
        events.reverse()
        return events


IMPORTLIB = "<frozen importlib"
DEEPEST = 100
"""The most frames of a stack that are written down."""
_FARTHEST = 20_000
_NOTHING = object()
_MODULE = type(sys)
_OPTIMIZED = 1
_OWN_FOLDER = __file__.rpartition("/stacks/")[0] + "/"
#: What no program calls by itself: Python's own import, what observes it, and the virtual device in the place
#: of a library's functions.
MACHINERY = (IMPORTLIB, _OWN_FOLDER, __file__.rpartition("/observe/")[0] + "/virtual/")
_ENTERING = ("enter", "enter_body")
"""The methods of `imports.Imports` that poll before a module is loaded."""

#: Comprehensions, which before Python 3.12 have frames of their own.
_COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>"})

#: Libraries whose functions users know; the first of these functions on the stack is reported as the call.
ACCELERATOR_LIBRARIES = frozenset({
    "cuda", "cudf", "cuml", "cupy", "cutlass", "deep_ep", "flashinfer", "intel_extension_for_pytorch",
    "jax", "jaxlib", "numba", "paddle", "pycuda", "pynvml", "pyopencl", "rmm", "taichi", "tensorflow",
    "torch", "torch_xla", "triton", "warp",
})  # fmt: skip


class StackView:
    """A thread's stack, divided into one segment for each import in progress, and one for the code
    outside.
    """

    __slots__ = ("_segments", "loads")

    def __init__(self, frame: FrameType | None, line: int | None, wrappers: Collection[CodeType]) -> None:
        cut = _cut(frame, line, wrappers)
        self.loads: list[Load] = cut[0]
        self._segments = cut[1]

    def site(self, depth: int) -> Spot | None:
        """Return an import's import-time line, in the module's own frame or in a class body inside it."""
        spots = self._segments[depth + 1]
        start = next((at for at, (frame, _) in enumerate(spots) if _is_module_body(frame)), None)
        if start is None:
            return None
        while start + 1 < len(spots) and _stands_in(spots[start][0].f_code, spots[start + 1][0].f_code):
            start += 1
        return spots[start]

    def outside(self) -> Spot | None:
        """Return the innermost line outside of all imports, the one that requested the outermost import."""
        spots = self._segments[0]
        return spots[-1] if spots else None

    def stack(self, depth: int) -> list[Event]:
        """Return the frames from an import's own line to the end of the stack, outermost first."""
        spots = [spot for segment in self._segments[depth + 1 :] for spot in segment]
        first = self.site(depth)
        if first is not None:
            spots = spots[spots.index(first) :]
        return listed(spots)

    def call(self, depth: int) -> str | None:
        """Return the function that users know: an accelerator library's first one after the import's line."""
        site = self.site(depth)
        spots = [spot for segment in self._segments[depth + 1 :] for spot in segment]
        own = _top(site[0]) if site is not None else None
        for frame, _ in spots[spots.index(site) + 1 :] if site is not None else spots:
            top = _top(frame)
            if top != own and top in ACCELERATOR_LIBRARIES and frame.f_code.co_name != "<module>":
                return f"{frame.f_globals.get('__name__')}.{frame.f_code.co_qualname}"
        return None


def listed(spots: Sequence[Spot]) -> list[Event]:
    """Return frames in the form of a recording; the middle of a very deep stack is omitted."""
    if len(spots) > DEEPEST:
        spots = [*spots[: DEEPEST // 2], *spots[-DEEPEST // 2 :]]
    return [
        {"path": frame.f_code.co_filename, "line": line, "function": frame.f_code.co_qualname}
        for frame, line in spots
    ]


def current(frame: FrameType | None) -> list[Event]:
    """Return the stack that ends in a frame, outermost first, without importlib's frames and ours."""
    return listed(_cut(frame, None, ())[1][0])


def dotted(callee: object) -> str | None:
    """Return the dotted name of a called object, as far as it can be known without running its code."""
    kind = type(callee)
    if kind is type(len):
        return _builtin(callee)
    if isinstance(callee, type):
        return _joined(
            type.__getattribute__(callee, "__module__"), type.__getattribute__(callee, "__qualname__")
        )
    if "CFuncPtr" in [base.__name__ for base in type.__getattribute__(kind, "__mro__")]:
        return _text(_own(callee, "__name__"))
    name = _own(callee, "__qualname__") or _own(callee, "__name__")
    if isinstance(name, str):
        return _joined(_own(callee, "__module__"), name)
    return _joined(kind.__module__, kind.__qualname__)


def _builtin(callee: object) -> str | None:
    owner = _own(callee, "__self__")
    name = _own(callee, "__qualname__")
    if owner is None:
        return _joined(_own(callee, "__module__"), name)
    if isinstance(owner, _MODULE):
        return _joined(_own(owner, "__name__"), name)
    kind = owner if isinstance(owner, type) else type(owner)
    return _joined(kind.__module__, name) if kind.__module__ != "builtins" else _text(name)


def _own(thing: object, name: str) -> object:
    """Read an attribute, bypassing any `__getattr__` that its class may define."""
    try:
        return object.__getattribute__(thing, name)
    except Exception:
        return None


def _joined(module: object, name: object) -> str | None:
    if not isinstance(name, str):
        return None
    return f"{module}.{name}" if isinstance(module, str) and module != "builtins" else name


def _text(name: object) -> str | None:
    return name if isinstance(name, str) else None


def _cut(
    frame: FrameType | None, line: int | None, wrappers: Collection[CodeType]
) -> tuple[list[Load], list[list[Spot]]]:
    """Return the imports on a stack, found by their wrappers, outermost first, and the frames outside and
    after each.
    """
    loads: list[Load] = []
    segments: list[list[Spot]] = [[]]
    inner: FrameType | None = None
    seen: object = _NOTHING
    for _ in range(_FARTHEST):
        if frame is None:
            break
        code = frame.f_code
        if code in wrappers:
            load = frame.f_locals.get("load")
            if load is None and _polls_first(inner):
                seen = inner.f_locals.get("spec")
            # Another watch's wrappers, which have the same code as ours, show the same import again: one in
            # progress, or one that has begun for that watch but not for us.
            again = not segments[-1] and load is not None and load.spec is seen
            if load is not None and not again:
                seen = load.spec
                loads.append(load)
                segments.append([])
        elif not code.co_filename.startswith(MACHINERY):
            segments[-1].append((frame, line if line is not None else frame.f_lineno or 0))
        line = None
        inner, frame = frame, frame.f_back
    return loads[::-1], [spots[::-1] for spots in reversed(segments)]


def _polls_first(inner: FrameType | None) -> TypeGuard[FrameType]:
    """Return whether a wrapper is polling before a load begins; `inner` is the frame that it called."""
    return (
        inner is not None
        and inner.f_code.co_name in _ENTERING
        and inner.f_code.co_filename.startswith(_OWN_FOLDER)
    )


def runs_inline(name: str) -> bool:
    """Return True for code that runs as part of the line around it, although it has a frame of its own.

    For example, the type parameters of a generic class have a frame around its body and bases.
    """
    return name in _COMPREHENSIONS or name.startswith("<generic parameters of ")


def _is_module_body(frame: FrameType) -> bool:
    code = frame.f_code
    return code.co_name == "<module>" and not code.co_flags & _OPTIMIZED


def _stands_in(outer: CodeType, inner: CodeType) -> bool:
    """Return True for a class body or comprehension that runs in place, within the code around it."""
    class_body = not inner.co_flags & _OPTIMIZED and inner.co_name != "<module>"
    return (class_body or runs_inline(inner.co_name)) and any(
        constant is inner for constant in outer.co_consts
    )


def _top(frame: FrameType) -> str:
    name = frame.f_globals.get("__name__")
    return name.partition(".")[0] if isinstance(name, str) else ""


#: `types.MethodType`, the only part of `types` that is needed here.
_METHOD = type(StackView(None, None, ()).site)
