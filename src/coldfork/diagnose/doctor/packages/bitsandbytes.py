"""Whether bitsandbytes has a library for the CUDA that torch was built for.

It brings one library for each release of CUDA, and loads the one for torch's: `libbitsandbytes_cuda128.so`
for 12.8. BNB_CUDA_VERSION chooses another.

- **ok**: the library is there, or torch is a build for the CPU.
- **warn**: BNB_CUDA_VERSION chooses one that is not there or of another major release.
- **fail**: there is none for torch's CUDA, or torch is missing.
- **skipped**: it is not installed.
"""

from __future__ import annotations

import re

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.model.diagnosis import Answer, fail, ok, skipped, warn

_LIBRARY = re.compile(r"^libbitsandbytes_cuda(\d{3})(?:_nocublaslt)?\.")
_VARIABLE = "BNB_CUDA_VERSION"


def examine(facts: Facts) -> Answer:
    """Look for the compiled library that bitsandbytes would load."""
    version = facts.packages.version("bitsandbytes")
    if version is None:
        return skipped("bitsandbytes is not installed")
    torch = facts.torch
    if torch is None:
        return fail(
            f"bitsandbytes {version} is installed without torch", "install torch, or remove bitsandbytes"
        )
    if torch.cuda is None:
        return ok(f"bitsandbytes {version}, with a torch for {torch.built_for}")
    there = sorted(
        {found[1] for name in facts.packages.files("bitsandbytes") if (found := _LIBRARY.match(name))}
    )
    chosen = facts.variables.get(_VARIABLE)
    if chosen and (chosen not in there or chosen[:2] != str(torch.cuda[0])):
        return warn(f"{_VARIABLE}={chosen} chooses a library for another CUDA, or none", f"unset {_VARIABLE}")
    wanted = f"{torch.cuda[0]}{torch.cuda[1]}"
    if chosen or wanted in there:
        return ok(f"bitsandbytes {version}, with a library for CUDA {torch.cuda[0]}.{torch.cuda[1]}")
    return fail(
        f"bitsandbytes {version} has no library for CUDA {torch.cuda[0]}.{torch.cuda[1]}, only for "
        f"{', '.join(there) or 'none'}",
        "install a newer release: pip install --upgrade bitsandbytes",
    )
