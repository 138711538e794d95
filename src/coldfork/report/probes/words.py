"""What the formats of `coldfork probe` say in the same words."""

from __future__ import annotations

from collections import Counter

from coldfork.model.effects import EffectKind
from coldfork.model.probes import ModuleProbe, ProbeStatus, Probing
from coldfork.model.states import Level
from coldfork.report.shared.effects import effect_of, effect_phrase, rule_of
from coldfork.report.shared.quantities import plural
from coldfork.report.shared.wakers import inside

_DEVICES = {"opencl": "an OpenCL device", "jax": "a JAX device"}

_MOST_LEFT = 4

#: Loudest first: what a summary begins with.
_ORDER = (ProbeStatus.WOKEN, ProbeStatus.FAILED, ProbeStatus.UNKNOWN, ProbeStatus.COLD)


def headline(probe: ModuleProbe) -> str:
    """The result in one sentence."""
    match probe.status:
        case ProbeStatus.WOKEN:
            return f"importing {probe.module} wakes {probe.accelerator}"
        case ProbeStatus.COLD:
            return f"importing {probe.module} leaves every device cold"
        case _:
            return f"importing {probe.module} could not be judged: {probe.reason}"


def rule(probe: ModuleProbe) -> str:
    """The rule that `check` would name for the line that woke the device."""
    return rule_of(_depth(probe))


def effect(probe: ModuleProbe) -> EffectKind:
    """What was done to the device."""
    return effect_of(_depth(probe))


def effect_sentence(probe: ModuleProbe) -> str:
    """What the last call does: `creates a CUDA context`."""
    return effect_phrase(effect(probe), probe.accelerator) if _depth(probe) else f"wakes {probe.accelerator}"


def deeper_sentence(probe: ModuleProbe) -> str:
    """That the import went further than the line that woke the device; empty when it did not."""
    if probe.woken_to is not Level.DRIVER or probe.level is not Level.CONTEXT:
        return ""
    phrase = effect_phrase(effect_of(probe.level), probe.accelerator)
    return f"later in the same import, more than that: it {phrase}"


def _depth(probe: ModuleProbe) -> Level | None:
    """How deep the line woke it that is blamed."""
    return probe.woken_to or probe.level


def consequence(probe: ModuleProbe) -> str:
    """Why it matters."""
    device = _DEVICES.get(probe.accelerator or "", "the GPU")
    return f"every process that imports this module can no longer fork workers that use {device}"


def standing(function: str | None) -> str:
    """Where in its file the waking line stands: `in the body of Builder`; empty at module level."""
    name = inside(function)
    return f"in the body of {name}" if name else ""


def remedy(probe: ModuleProbe) -> str:
    """What to do about a woken module."""
    if probe.waker is None or probe.waker.line is None:
        return "find the line with coldfork check, which reads the source"
    return "compute it on first use, not while the module is imported"


def advice(probe: ModuleProbe) -> str:
    """What to do next about a module that could not be judged."""
    if probe.reason is not None and "did not end within" in probe.reason:
        return f"give it more time: coldfork probe --timeout 600 {probe.module}"
    return f"see it fail in the interpreter that you probe with: python -c 'import {probe.module}'"


def interruption(probing: Probing) -> str:
    """What an interruption left open, in one sentence; empty when nobody interrupted."""
    if not probing.interrupted:
        return ""
    left = probing.left
    shown = ", ".join(left[:_MOST_LEFT])
    more = f" and {len(left) - _MOST_LEFT} more" if len(left) > _MOST_LEFT else ""
    return "interrupted: " + (
        f"nothing is known about {plural(len(left), 'module')}: {shown}{more}"
        if left
        else "every module had been imported by then"
    )


def counts(probing: Probing) -> str:
    """`1 woken, 2 cold`: what does not occur is left out."""
    found = Counter(probe.status for probe in probing.modules)
    return ", ".join(f"{found[status]} {status.value}" for status in _ORDER if found[status]) or "none"
