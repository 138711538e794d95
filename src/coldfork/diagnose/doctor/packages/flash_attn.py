"""Whether flash-attn fits the torch that is installed.

Its wheels are named after the torch and the CUDA that they were built with, such as
`2.8.3+cu12torch2.8cxx11abitrue`; the name of a wheel that was compiled here says less, so its libraries are
examined.

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
    """Compare the version and the libraries of flash-attn with the installed torch."""
    return examined("flash-attn", facts, "flash-attn", "flash-attn-3")
