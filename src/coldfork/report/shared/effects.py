"""What was done to a device, in words, and the rule that judges it."""

from __future__ import annotations

from coldfork.model.effects import EffectKind
from coldfork.model.states import Level

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
