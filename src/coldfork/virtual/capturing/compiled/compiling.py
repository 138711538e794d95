"""Torch's compiler at work: which code is it, and why it has no place in a capture."""

from __future__ import annotations

import os
import sys
from types import FrameType
from typing import Any

import torch

COMPILES = (
    "compiles here for the first time, or for other arguments than before; the compiler saves and restores "
    "random numbers, and may measure and load kernels: call it with such arguments before the capture"
)
LIBRARY = "it runs a library that torch's compiler made ahead of time, and what that writes is not known"

STEPS = (("torch._dynamo.convert_frame", "_compile"), ("torch._inductor.compile_fx", "_compile_fx_inner"))
"""Where it begins; an error that is raised further in comes out wrapped in another one."""

LIBRARIES = (
    ("torch._inductor.output_code", "CompiledAOTI", ("__call__",)),
    ("torch._inductor.package.package", "AOTICompiledModel", ("__call__",)),
    ("torch._C._aoti", "AOTIModelPackageLoader", ("run", "boxed_run")),
    ("torch._C._aoti", "AOTIModelContainerRunnerCpu", ("run", "boxed_run")),
)
"""What runs whole programs that were compiled ahead of time."""

_FOLDERS = tuple(
    os.path.join(os.path.dirname(torch.__file__), room) + os.sep  # noqa: PTH118, PTH120 - as in code objects
    for room in ("_dynamo", "_functorch", "_inductor")
)


def is_compiling() -> bool:
    """Whether the compiler is what is running here, and not something that it made."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name in _AT_WORK and frame.f_code.co_filename.startswith(_FOLDERS):
            return True
        frame = frame.f_back
    return False


_AT_WORK = frozenset(("_compile", "preserve_rng_state", "_compile_fx_inner", "compile_fx", "trace_frame"))


def times_compiled() -> int:
    """How many functions torch's compiler has compiled in this process."""
    module = sys.modules.get("torch._dynamo.utils")
    return int(module.counters["frames"]["ok"]) if module is not None else 0


def what_is_compiled(code: Any) -> str:
    """The function that is being compiled, in words."""
    name = getattr(code, "co_qualname", "")
    return f"torch.compile of {name}" if name else "torch.compile"
