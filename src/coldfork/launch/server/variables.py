"""The variables that a server is started with, and those whose changes come too late for its workers.

A worker is given its caller's whole environment. Code that reads a variable later gets the caller's value.
Code that read it before the fork, at the interpreter's start or while a module was imported, has the server's
value; if the caller's differs, another server is started.

This module lists which variables are read early: many are read in C, where that cannot be noted. A warm
server also notes what Python reads (`reads`), because its scripts must behave as if started anew; a worker
may have what its caller's own imports would have found.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

MARK = "COLDFORK_ZYGOTE"
"""Carried by the server, its workers and all they start, to find them when their caller has died."""

HELD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "GOTO_NUM_THREADS": "1",
    "BLIS_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
}
"""Limits thread pools to one thread during imports; `thread_limits` gives the workers their own."""
QUIET = {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}
"""Lets PyTorch tell whether there is a device, during imports, without waking it."""
UNLESS_SET = {"OPENBLAS_THREAD_TIMEOUT": "18"}
"""Limits how long the threads that OpenBLAS starts in each worker spin: 2 ** 18 cycles are enough to be awake
for the next of several operations, while the default of 2 ** 26 is more than a worker takes to start.
"""
FOLLOWING = ("MKL_NUM_THREADS", "MKL_DOMAIN_NUM_THREADS")
"""Left out, because MKL follows OpenMP's setting, and remembers what it has read itself."""

DEVICES = (
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "ZE_AFFINITY_MASK",
    "ONEAPI_DEVICE_SELECTOR",
)
RANKS = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT")
"""Variables that differ between workers: a module that reads one at import freezes it for all of them."""

INTERPRETER = "the interpreter"
LOADER = "the dynamic loader"
READ_EARLY: tuple[tuple[str, str], ...] = (
    ("PYTHON", INTERPRETER),
    ("LD_", LOADER),
    ("GLIBC_TUNABLES", LOADER),
    ("MALLOC_", LOADER),
    ("OPENBLAS_THREAD_TIMEOUT", "numpy"),
    ("HF_", "huggingface_hub"),
    ("HUGGINGFACE_", "huggingface_hub"),
    ("TRANSFORMERS_", "transformers"),
    ("TORCH_LOGS", "torch"),
    ("TORCH_TRACE", "torch"),
    ("TORCH_SHOW_CPP_STACKTRACES", "torch"),
    ("TORCHINDUCTOR_", "torch._inductor.config"),
    ("TORCHDYNAMO_", "torch._dynamo.config"),
    ("TRITON_", "triton"),
    ("JAX_", "jax"),
    ("NUMBA_", "numba"),
    ("KMP_", "torch"),
    ("GOMP_", "torch"),
)
"""Prefixes of variables, each with what has read them by then: the module, if it is imported."""
_GIVEN_ANEW = ("numexpr",)
"""Libraries whose pools get the size that the worker's variables say."""
HANDED_ON = ("PYTHONPATH", "PYTHONSTARTUP", "PYTHONBREAKPOINT", "PYTHONINSPECT")
"""Exceptions: a worker's `sys.path` is its caller's, and the others are read only when they are needed."""


def changed(environment: Mapping[str, str], changes: Mapping[str, str | None] | None) -> dict[str, str]:
    """Return an environment with these changes; a variable whose value is None is removed."""
    merged = {**environment, **(changes or {})}
    return {name: value for name, value in merged.items() if value is not None}


def for_server(environment: Mapping[str, str], mark: str) -> dict[str, str]:
    """Return the environment in which a server starts."""
    return {**while_importing(environment), MARK: mark}


def while_importing(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment in which a server imports."""
    kept = {name: value for name, value in environment.items() if name not in FOLLOWING}
    return {**UNLESS_SET, **kept, **HELD, **QUIET}


def is_workers_own(name: str, reader: str | None) -> bool:
    """Return whether workers have different values of a variable, so that a server must not read it early."""
    if (reader or "").partition(".")[0] in _GIVEN_ANEW:
        return False
    return name in DEVICES or name in RANKS or name in HELD or name in FOLLOWING


def pretended(name: str, environment: Mapping[str, str]) -> str:
    """Return a value that another worker might have for this variable."""
    return "1" if environment.get(name, "") == "0" else "0" if name not in HELD else "2"


def stays_the_same(name: str) -> bool:
    """Return whether all workers of a server share a variable, so that changing it needs a new server."""
    return not is_workers_own(name, None) and name not in HANDED_ON and name not in QUIET and name != MARK


def early_modules() -> frozenset[str]:
    """Return the modules known to read variables while they are imported."""
    return frozenset(reader for _, reader in READ_EARLY if reader not in (INTERPRETER, LOADER))


def too_late(
    before: Mapping[str, str],
    now: Mapping[str, str],
    imported: Collection[str],
    also: Collection[str] = (),
    made: Mapping[str, str | None] | None = None,
) -> list[str]:
    """Return the variables that a server has read and that have changed since the server's start.

    `before` is what `early` returned then. `also` are more variables that it has read. `made` is what its
    modules have set themselves: a caller that has imported them has the same values, which is no change.
    """
    later = early(now, also)
    same = made or {}
    changed = (
        name
        for name in before.keys() | later.keys()
        if before.get(name) != later.get(name) and not (name in same and same[name] == later.get(name))
    )
    return sorted(name for name in changed if name in also or was_read(name, imported))


def was_read(name: str, imported: Collection[str]) -> bool:
    """Return whether a server with these imported modules has already read a variable."""
    if name in HANDED_ON:
        return False
    return any(
        name.startswith(prefix) and (reader in (INTERPRETER, LOADER) or reader in imported)
        for prefix, reader in READ_EARLY
    )


def early(environment: Mapping[str, str], also: Collection[str] = ()) -> dict[str, str]:
    """Return the variables that servers read early, whichever modules they import."""
    every = [reader for _, reader in READ_EARLY]
    return {name: value for name, value in environment.items() if name in also or was_read(name, every)}


class Made:
    """The variables that imports have set or removed, with their earlier values."""

    def __init__(self, before: Mapping[str, str], after: Mapping[str, str]) -> None:
        names = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
        self.variables: dict[str, str | None] = {name: after.get(name) for name in sorted(names)}
        """The variables that they have set, with None for those that they have removed."""
        self._found = {name: before.get(name) for name in names}

    def apply(self, *, always: bool = False) -> None:
        """Make the same changes here, except to variables whose values differ from those before the imports.

        Use `always` if it is known that the imports would have read the same here.
        """
        for name, value in self.variables.items():
            if not always and os.environ.get(name) != self._found[name]:
                continue
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
