"""Whether a variable for debugging slows every program down: CUDA_LAUNCH_BLOCKING and its like.

- **ok**: none is set.
- **warn**: one is set. With CUDA_LAUNCH_BLOCKING=1 the program waits for every kernel.

It never fails, and is never skipped.
"""

from __future__ import annotations

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.model.diagnosis import Answer, ok, warn

_NAMES = (
    "CUDA_LAUNCH_BLOCKING",
    "HIP_LAUNCH_BLOCKING",
    "AMD_SERIALIZE_KERNEL",
    "CUDA_INJECTION64_PATH",
)


def examine(facts: Facts) -> Answer:
    """Look for debugging variables that are set."""
    given = [
        f"{name}={facts.variables[name]}"
        for name in _NAMES
        if facts.variables.get(name) not in (None, "", "0")
    ]
    if not given:
        return ok("no variable for debugging is set")
    return warn(f"{', '.join(given)}: for debugging, and slow", "unset it when you are not debugging")
