"""Whether torchaudio fits the torch that is installed.

It pins the release of torch that it was built with; a build for another CUDA cannot load its library.

- **ok**: nothing speaks against it.
- **fail**: it asks for another torch, was built with another one or for another CUDA, or torch is missing.
- **skipped**: it is not installed.

It never warns: a misfit fails on import.
"""

from __future__ import annotations

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.diagnose.doctor.packages.fit import examined
from coldfork.model.diagnosis import Answer


def examine(facts: Facts) -> Answer:
    """Compare torchaudio's required torch version and its libraries with the installed torch."""
    return examined("torchaudio", facts, "torchaudio")
