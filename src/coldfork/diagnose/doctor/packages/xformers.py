"""Whether xformers fits the torch that is installed.

It pins the release of torch, and writes down in `xformers/cpp_lib.json` what its compiled part was built
with. Where that does not fit, it imports without its kernels and says so in a warning.

- **ok**: nothing speaks against it.
- **warn**: its compiled part was built with another torch, or for another CUDA: its kernels are left out.
- **fail**: it asks for another torch, or torch is missing.
- **skipped**: it is not installed.
"""

from __future__ import annotations

import json

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.diagnose.doctor.packages.fit import examined
from coldfork.model.diagnosis.checks import Answer, Health, warn


def examine(facts: Facts) -> Answer:
    """Compare its pin, and then what its compiled part says of itself."""
    answer = examined("xformers", facts, "xformers")
    torch = facts.torch
    if answer.health is not Health.OK or torch is None:
        return answer
    built = _built(facts.packages.text("xformers/cpp_lib.json"))
    with_torch = str(built.get("torch") or torch.version)
    cuda = built.get("cuda")
    wanted = torch.cuda and torch.cuda[0] * 100 + torch.cuda[1]
    if with_torch.partition("+")[0] != torch.version.partition("+")[0]:
        said = f"was built with torch {with_torch}, and {torch.version} is installed"
    elif isinstance(cuda, int) and cuda // 100 != (wanted or 0) // 100:
        said = f"was built for CUDA {cuda // 100}, and torch for {torch.built_for}"
    else:
        return answer
    return warn(
        f"the compiled part of xformers {said}: its kernels are left out",
        "install the release for this torch",
    )


def _built(text: str | None) -> dict[str, object]:
    try:
        version = json.loads(text or "{}").get("version")
    except (ValueError, AttributeError):
        return {}
    return version if isinstance(version, dict) else {}
