"""The list of checks, which are imported when they run; one that crashes counts as skipped and does not stop
the others.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable
from time import monotonic
from types import MappingProxyType
from typing import Protocol, cast

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.model.diagnosis import Answer, CheckResult, Checkup, skipped
from coldfork.model.errors import UsageError

_ROOM = "coldfork.diagnose.doctor"

#: The groups in display order: each folder, with the group's name and its checks.
GROUPS = MappingProxyType(
    {
        "python": ("Python", ("python", "start-method", "startup-files", "openmp")),
        "driver": (
            "Driver and devices",
            (
                "driver",
                "nvml",
                "device-files",
                "container",
                "wsl",
                "compute-mode",
                "mig",
                "mps",
                "persistence",
                "touch",
            ),
        ),
        "packages": (
            "Packages",
            (
                "torch",
                "torchvision",
                "torchaudio",
                "jax",
                "triton",
                "vllm",
                "flash-attn",
                "flashinfer",
                "xformers",
                "bitsandbytes",
                "grpc",
                "packages",
            ),
        ),
        "settings": (
            "Environment variables",
            (
                "visible-devices",
                "hip-visible-devices",
                "nvidia-visible-devices",
                "device-order",
                "nvml-query",
                "vllm-method",
                "thread-counts",
                "tokenizers-parallelism",
                "launch-blocking",
                "library-path",
                "alloc-conf",
            ),
        ),
        "limits": ("Limits", ("dev-shm", "nofile", "nproc", "memlock", "core", "cgroup")),
        "own": ("coldfork", ("guard", "vllm-plugin", "recordings", "poisoned")),
    }
)


class Check(Protocol):
    """The interface that each check's module implements; the module's docstring is its documentation."""

    __doc__: str | None

    def examine(self, facts: Facts) -> Answer:
        """Run the check and return its result."""


def folders() -> dict[str, str]:
    """Return the folder of each check, by the check's name, in display order."""
    return {name: folder for folder, (_, names) in GROUPS.items() for name in names}


def check(name: str) -> Check:
    """Import the module of one check."""
    places = folders()
    if name not in places:
        from coldfork.rules.registry import near_match

        match = near_match(name, places)
        hint = f"did you mean {match}?" if match else "coldfork doctor --list-checks lists them"
        raise UsageError(f"there is no check {name!r}; {hint}")
    return cast(Check, importlib.import_module(f"{_ROOM}.{places[name]}.{name.replace('-', '_')}"))


def _meant(name: str) -> tuple[str, ...]:
    """Return the checks that a name stands for: a single check, or else all checks of a group."""
    if name in GROUPS and name not in folders():
        return GROUPS[name][1]
    check(name)
    return (name,)


def group(name: str) -> str:
    """Return the name of the group that a check belongs to."""
    return GROUPS[folders()[name]][0]


def title(name: str) -> str:
    """Return the title of a check: the first line of its docstring."""
    return _text(name).partition("\n")[0].rstrip(".")


def page() -> str:
    """Return the documentation page of all checks."""
    parts = [_HEAD]
    for heading, names in GROUPS.values():
        parts.append(f"## {heading}")
        for name in names:
            first, _, rest = _text(name).partition("\n")
            parts += [f"### {name}", first, rest.strip()]
    return "\n\n".join(part for part in parts if part) + "\n"


def _text(name: str) -> str:
    return inspect.cleandoc(check(name).__doc__ or "")


_HEAD = """\
# The checks of `coldfork doctor`

[`coldfork doctor`](../how-to/doctor.md) runs them all; `coldfork doctor NAME` runs one. Each comes out as
ok, as a warning, as a failure, or is skipped with the reason. Only a failure makes the exit status 1. None of
them initialises a device in coldfork's own process. A check that fails itself is skipped, and says why."""


def examine(names: Iterable[str], facts: Facts, clock: Callable[[], float] = monotonic) -> Checkup:
    """Run the named checks; without names, run all."""
    asked = tuple(dict.fromkeys(check for name in names for check in _meant(name)))
    results = tuple(_result(name, facts, clock) for name in asked or folders())
    python = facts.python
    return Checkup(results, python.executable, tuple(map(str, python.folders)), asked)


def _result(name: str, facts: Facts, clock: Callable[[], float]) -> CheckResult:
    began = clock()
    answer = _answer(name, facts)
    return CheckResult(name, group(name), title(name), answer, clock() - began)


def _answer(name: str, facts: Facts) -> Answer:
    try:
        return check(name).examine(facts)
    except Exception as error:
        return skipped(f"the check itself failed: {type(error).__name__}: {error}")
