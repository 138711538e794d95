"""Whether flashinfer and its parts fit each other and the torch that is installed.

`flashinfer-python` refuses to be imported beside a `flashinfer-cubin` or a `flashinfer-jit-cache` of another
release; older wheels are named after the torch and the CUDA that they were built with.

- **ok**: nothing speaks against it.
- **fail**: the parts are of different releases, or it was built for another torch or another CUDA, or torch
  is missing.
- **skipped**: it is not installed.

It never warns: a misfit fails on import.
"""

from __future__ import annotations

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.diagnose.doctor.packages.fit import examined
from coldfork.model.diagnosis import Answer, Health, fail

_PARTS = ("flashinfer-cubin", "flashinfer-jit-cache")


def examine(facts: Facts) -> Answer:
    """Compare the parts of flashinfer with each other, then flashinfer with torch."""
    answer = examined("flashinfer", facts, "flashinfer-python", "flashinfer")
    version = facts.packages.version("flashinfer-python")
    if answer.health is not Health.OK or version is None:
        return answer
    release = version.partition("+")[0]
    for part in _PARTS:
        other = facts.packages.version(part)
        if other is not None and other.partition("+")[0] != release:
            return fail(f"flashinfer-python {version} beside {part} {other}", f"install {part} {release}")
    return answer
