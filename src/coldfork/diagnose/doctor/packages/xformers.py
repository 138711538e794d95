"""Whether xformers fits the torch that is installed.

Its metadata says which torch it asks for, and its compiled part links to the libraries of one CUDA. If these
are not torch's, it imports without its kernels and says so in a warning.

- **ok**: nothing speaks against it.
- **warn**: its compiled part is for another CUDA: its kernels are left out.
- **fail**: it asks for another torch, or torch is missing.
- **skipped**: it is not installed.
"""

from __future__ import annotations

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.diagnose.doctor.packages.fit import built_for_another, examined
from coldfork.model.diagnosis import Answer, Health, warn

_NAME = "xformers"


def examine(facts: Facts) -> Answer:
    """Compare xformers' requirements with torch, then the libraries that its compiled part is linked to."""
    answer = examined(_NAME, facts, _NAME, imports_anyway=True)
    if answer.health is not Health.OK or facts.torch is None:
        return answer
    trouble = next(built_for_another(_NAME, facts, facts.torch), None)
    if trouble is None:
        return answer
    return warn(
        f"the compiled part of xformers {trouble}, so its kernels are left out",
        f"install the build of xformers for torch {facts.torch.version}: both together, from one index",
    )
