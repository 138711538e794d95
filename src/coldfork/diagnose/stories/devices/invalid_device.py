"""The program asked for a device that it does not see.

## How it is told

By CUDA's errors 100 and 101, PyTorch's `No CUDA GPUs are available`, which names HIP or XPU on other
devices, its `Found no NVIDIA driver on your system` and JAX's `No visible GPU devices`, as messages of an
error.

## What else it could be

A machine or a container that has no device, or no driver.

## Reproduced

By `torch.cuda.set_device(7)` on the virtual device, which has one; the other texts are those of
`c10/cuda` and `torch/csrc/cuda/Module.cpp`, and of jax-ml/jax#24866, not reproduced.
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.diagnose.case import Case
from coldfork.diagnose.stories import telling
from coldfork.knowledge.troubles import named
from coldfork.model.diagnosis import Story

NAME = "invalid-device"


def tell(case: Case) -> Iterator[Story]:
    """Yield the story, if the log contains its words."""
    title = "The program asked for a device that it does not see"
    yield from telling.by_sign(case, named(NAME), title, asked=True)
