"""Effects in words: the rule that judges one, and who woke the device through which calls."""

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
    """What the last step does to the device: `creates a CUDA context`; empty when nothing is known."""
    if effect is None:
        return ""
    name = _ACCELERATORS.get(accelerator or "", accelerator) or "device"
    template = _PHRASES.get(EffectKind(effect)) if effect in set(EffectKind) else None
    return template.replace("{}", name) if template else effect.replace("-", " ")


def effect_of(level: Level | None) -> EffectKind:
    """What a wake of this depth does; what is not known counts as the deepest."""
    return _OF_LEVEL[level or Level.CONTEXT]


def rule_of(level: Level | None) -> str:
    """The rule that `check` would name for a wake of this depth."""
    return _RULES[level or Level.CONTEXT]


MODULE_LEVEL = "<module>"
"""What Python calls the function of a line that stands in none."""

Place = Callable[[str, int | None], str]
"""Says a line of a file as the reader of this report would open it."""

Row = tuple[str, str]
"""What is called or imported, and where."""


def inside(function: str | None) -> str:
    """The function or class that a line stands in; empty for a line that stands in none."""
    return "" if function is None or function == MODULE_LEVEL else function


def calls_to_device(waker: Waker) -> tuple[Frame, ...]:
    """The calls from the waking line on, up to the one that people know, whose own calls it hides."""
    calls = waker.stack[1:]
    for depth, frame in enumerate(calls):
        if waker.call and is_called(frame.function, waker.call):
            return calls[:depth]
    return calls


def is_called(function: str, call: str) -> bool:
    """Whether a frame belongs to a call; a frame knows its function without the module, a call with it."""
    return call == function or call.endswith(f".{function}")


def frame_rows(frames: Iterable[Frame], place: Place) -> list[Row]:
    """A row for each of these calls."""
    return [(frame.function, place(frame.path, frame.line)) for frame in frames]


def import_rows(waker: Waker, place: Place) -> list[Row]:
    """A row for each import that led to the waking line; none where it is the only one."""
    chain = waker.import_chain
    if len(chain) < 2:
        return []
    return [(site.module, place(site.path, site.line) if site.path else "") for site in chain]
