"""The keys and words that a knowledge document may use."""

from __future__ import annotations

from collections.abc import Collection

ACCELERATORS = ("cuda", "rocm", "xpu", "opencl", "jax")
#: What an entry may say about the machine besides its accelerators.
OTHERWISE = "otherwise"
NEEDS = ("nvml", *ACCELERATORS)
SILENCES = ("nvml-fails", "amdsmi-fails")
DOES = ("initialises-driver", "creates-context", "queries-device", "loads-driver")
KINDS = {"none": None, "true": True, "false": False, "set": None}
HOW = {"calls": "call", "imports": "import", "attributes": "attribute", "methods": "method"}

COMMON = ("distribution", "versions", "source", "note")
KEYS: dict[str, tuple[str, ...]] = {
    "effect": (
        *COMMON, *HOW, "receivers", "except", "does", "accelerator", "under", "only_if", "unless_env",
        "argument", "unless_argument", "presumes", "remedy",
    ),
    "value": (*COMMON, "names", "is", "equals"),
    "raises": (*COMMON, "calls", "needs", "presumes"),
    "harmless": (*COMMON, "prefixes"),
    "returns": (*COMMON, "calls", "except", "type"),
    "remedy": ("id", "text"),
}  # fmt: skip
TOP = ("distribution", "summary", *KEYS)
ARGUMENT = ("name", "position", "startswith", "integers", "through", "equals", "endswith")


def near(name: str, known: Collection[str]) -> str:
    """A hint that names the known word closest to `name`, or nothing."""
    from difflib import get_close_matches

    matches = get_close_matches(name, list(known), 1, 0.7)
    return f"; did you mean {matches[0]!r}?" if matches else ""
