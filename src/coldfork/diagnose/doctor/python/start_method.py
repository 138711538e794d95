"""How multiprocessing starts processes here unless it is told otherwise.

The default of a Python follows from its version and its platform: `fork` on Linux up to 3.13, `forkserver`
from 3.14 on, `spawn` on macOS and Windows. A forked child cannot use a device that its parent has woken.

- **ok**: `spawn` or `forkserver`; or `fork` if no package that uses devices is installed
  (a torch for the CPU does not count).
- **warn**: `fork`, beside a framework that wakes devices.
- **skipped**: the version of Python is unknown.

It never fails: `fork` is harmless as long as the parent stays cold.
"""

from __future__ import annotations

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.diagnose.doctor.facts.interpreter import ExaminedPython
from coldfork.model.diagnosis import Answer, ok, skipped, warn

FRAMEWORKS = (
    "torch", "vllm", "jax", "tensorflow", "cupy", "cupy-cuda12x", "cupy-cuda13x", "cuda-python", "cuda-core",
    "numba-cuda", "pyopencl", "sglang", "tensorrt", "onnxruntime-gpu",
)  # fmt: skip
"""Distributions whose packages wake devices."""


def examine(facts: Facts) -> Answer:
    """State the default start method, and judge whether it harms anything on this machine."""
    method = default(facts.python, facts.system.platform)
    if method is None:
        return skipped("the folder of the examined Python does not tell its version")
    said = f"{method} is the default of Python {facts.python.version_text} here"
    framework = facts.packages.first(*(name for name in FRAMEWORKS if not _is_for_the_cpu(name, facts)))
    if method != "fork" or framework is None:
        return ok(said)
    return warn(
        f"{said}: a forked child cannot use a device that {framework} woke in its parent",
        "start workers with coldfork.get_context(), which forks only if that is safe",
        "coldfork guard install warns of every fork that would break its child",
    )


def _is_for_the_cpu(name: str, facts: Facts) -> bool:
    """Return whether this build of torch supports no device but the CPU."""
    torch = facts.torch
    return name == "torch" and torch is not None and torch.cuda is None and not torch.others


def default(python: ExaminedPython, platform: str) -> str | None:
    """Return the default start method; None if it is unknown."""
    if not platform.startswith("linux"):
        return "spawn"
    if python.version is None:
        return None
    return "forkserver" if python.version >= (3, 14) else "fork"
