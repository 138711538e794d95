"""Whether the torch that is installed was built for this machine's driver.

The build is read from `torch/version.py`; torch is not imported. A driver serves programs that were built for
its own release of CUDA or an older one. It also serves newer minor releases of the same major release, if the
program ships code for the device.

- **ok**: the driver serves what torch was built for; or there is no accelerator, and torch needs none.
- **warn**: a build for the CPU beside an NVIDIA driver; a build for CUDA without one; a build for a newer
  minor release.
- **fail**: a build for a newer major release of CUDA than the driver serves, or for ROCm beside an NVIDIA
  driver.
- **skipped**: torch is not installed.
"""

from __future__ import annotations

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.diagnose.doctor.facts.packages import TorchBuild
from coldfork.launch.devices.management import cuda_name
from coldfork.model.diagnosis import Answer, fail, ok, skipped, warn

_BUILD = "install the build of torch for CUDA {}: pytorch.org/get-started lists them"


def examine(facts: Facts) -> Answer:
    """Compare the CUDA version that torch was built for with the driver's."""
    torch = facts.torch
    if torch is None:
        return skipped("torch is not installed")
    said = f"torch {torch.version}, built for {torch.built_for}"
    served = facts.management.cuda_version
    if torch.cuda is not None:
        return _for_cuda(torch, torch.cuda, served, said)
    if served is None:
        return ok(said)
    remedy = _BUILD.format(cuda_name(served))
    if torch.others:
        return fail(f"{said}, but the driver here is NVIDIA's", remedy)
    return warn(f"{said}, beside an NVIDIA driver: it will not use the devices", remedy)


def _for_cuda(torch: TorchBuild, cuda: tuple[int, int], served: tuple[int, int] | None, said: str) -> Answer:
    if served is None:
        return warn(
            f"{said}, but no driver answers: it runs on the CPU only",
            "coldfork doctor driver says what is missing; without a GPU, the build for the CPU is smaller",
        )
    if cuda <= served:
        return ok(f"{said}; the driver supports CUDA {cuda_name(served)}")
    remedies = ("update the driver", _BUILD.format(cuda_name(served)))
    if cuda[0] > served[0]:
        return fail(f"{said}, but the driver supports only CUDA {cuda_name(served)}", *remedies)
    return warn(
        f"{said}, but the driver supports {cuda_name(served)}: it may refuse code compiled at run time",
        *remedies,
    )
