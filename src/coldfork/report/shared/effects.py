"""Effects on a device in words, the rule for each, and the calls through which a device was woken."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from coldfork.model.effects import EffectKind
from coldfork.model.states import Frame, Level, Waker

_ACCELERATORS = {
    "cuda": "CUDA",
    "rocm": "ROCm",
    "xpu": "XPU",
    "opencl": "OpenCL",
    "jax": "JAX",
    "openmp": "OpenMP",
}

_PHRASES = {
    EffectKind.LOADS_DRIVER: "loads the {} driver library",
    EffectKind.INITIALISES_DRIVER: "initialises the {} driver",
    EffectKind.CREATES_CONTEXT: "creates a {} context",
    EffectKind.QUERIES_DEVICE: "asks about {} devices",
    EffectKind.FORKS: "forks this process",
    EffectKind.SPAWNS: "spawns a process",
    EffectKind.EXECS: "executes another program",
    EffectKind.STARTS_THREADS: "starts threads",
    EffectKind.SETS_VISIBILITY: "sets which devices are visible",
    EffectKind.SETS_START_METHOD: "sets the start method",
    EffectKind.CHOOSES_START_METHOD: "is asked",
}

_OF_LEVEL = {Level.DRIVER: EffectKind.INITIALISES_DRIVER, Level.CONTEXT: EffectKind.CREATES_CONTEXT}
_RULES = {Level.DRIVER: "driver-init-at-import", Level.CONTEXT: "device-init-at-import"}


def effect_phrase(effect: str | None, accelerator: str | None) -> str:
    """Return the effect of a chain's last step, such as `creates a CUDA context`; empty if unknown."""
    if effect is None:
        return ""
    name = _ACCELERATORS.get(accelerator or "", accelerator) or "device"
    template = _PHRASES.get(EffectKind(effect)) if effect in set(EffectKind) else None
    return template.replace("{}", name) if template else effect.replace("-", " ")


def effect_of(level: Level | None) -> EffectKind:
    """Return the effect of waking a device to this level; None counts as the deepest level."""
    return _OF_LEVEL[level or Level.CONTEXT]


def rule_of(level: Level | None) -> str:
    """Return the rule under which `check` would report a wake to this level."""
    return _RULES[level or Level.CONTEXT]


MODULE_LEVEL = "<module>"
"""Python's name for the function of a line at module level."""

Place = Callable[[str, int | None], str]
"""Formats a line of a file as the readers of this report can open it."""

Row = tuple[str, str]
"""A called or imported name, and its place."""


def inside(function: str | None) -> str:
    """Return the function or class that contains a line; empty at module level."""
    return "" if function is None or function == MODULE_LEVEL else function


def calls_to_device(waker: Waker) -> tuple[Frame, ...]:
    """Return the calls from the waking line to the first well-known one, but not the calls inside it."""
    calls = waker.stack[1:]
    for depth, frame in enumerate(calls):
        if waker.call and is_called(frame.function, waker.call):
            return calls[:depth]
    return calls


def is_called(function: str, call: str) -> bool:
    """Return whether a frame's function is the called one; the call's name may begin with its module."""
    return call == function or call.endswith(f".{function}")


def frame_rows(frames: Iterable[Frame], place: Place) -> list[Row]:
    """Return a table row for each of these calls."""
    return [(frame.function, place(frame.path, frame.line)) for frame in frames]


def import_rows(waker: Waker, place: Place) -> list[Row]:
    """Return a table row for each import that led to the waking line; none for a single import."""
    chain = waker.import_chain
    if len(chain) < 2:
        return []
    return [(site.module, place(site.path, site.line) if site.path else "") for site in chain]
