"""The variables that a server is started with, and those whose changes come too late for its workers.

A worker is given its caller's whole environment. Code that reads a variable after the fork gets the caller's
value. Code that read it before, at the interpreter's start or while a module was imported, has the server's
value; if the caller's value is different, another server is started.

This module lists the variables that are read early, because C code reads many of them unseen. A warm server
also records what Python code reads (`reads`), because its scripts must behave as if newly started; for a
worker it is enough to be like its caller.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

MARK = "COLDFORK_ZYGOTE"
"""A variable of the server, its workers and everything they start, by which they are found if their caller
has died.
"""

HELD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "GOTO_NUM_THREADS": "1",
    "BLIS_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
}
"""Limits thread pools to one thread during imports; `ThreadLimits` raises the limits again in workers."""
QUIET = {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}
"""Lets PyTorch find out during imports whether there is a device, without waking it."""
UNLESS_SET = {"OPENBLAS_THREAD_TIMEOUT": "18"}
"""Limits how long the threads that OpenBLAS starts in each worker spin: for 2 ** 18 cycles, long enough to
catch the next of several operations. The default of 2 ** 26 takes longer than a worker's start.
"""
FOLLOWING = ("MKL_NUM_THREADS", "MKL_DOMAIN_NUM_THREADS")
"""Removed, because MKL follows OpenMP's setting, and would remember its own."""

DEVICES = (
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "ZE_AFFINITY_MASK",
    "ONEAPI_DEVICE_SELECTOR",
)
RANKS = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT")
"""Variables that differ between workers: a module that reads one at import freezes its value for all of them.
"""

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
"""Prefixes of variables, each with the code that reads them early: a module, if it is imported."""
_GIVEN_ANEW = ("numexpr",)
"""Libraries whose pools are resized according to the worker's variables."""
HANDED_ON = ("PYTHONPATH", "PYTHONSTARTUP", "PYTHONBREAKPOINT", "PYTHONINSPECT")
"""Exceptions: a worker gets its caller's `sys.path`, and the others are read only when needed."""


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
    """Return whether a variable differs between workers, so that a server must not read it."""
    if (reader or "").partition(".")[0] in _GIVEN_ANEW:
        return False
    return name in DEVICES or name in RANKS or name in HELD or name in FOLLOWING


def pretended(name: str, environment: Mapping[str, str]) -> str:
    """Return a value that another worker might have for this variable."""
    return "1" if environment.get(name, "") == "0" else "0" if name not in HELD else "2"


def stays_the_same(name: str) -> bool:
    """Return whether all workers of a server share a variable's value, so that another value needs a new
    server.
    """
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

    `before` is what `early` returned when it started. `also` are further variables that it has read. `made`
    are the changes that its modules made: a caller that has imported them has the same values.
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
    """Return the variables that every server reads early, whatever modules it imports."""
    every = [reader for _, reader in READ_EARLY]
    return {name: value for name, value in environment.items() if name in also or was_read(name, every)}


class Made:
    """The variables that imports have set or removed, with their earlier values."""

    def __init__(self, before: Mapping[str, str], after: Mapping[str, str]) -> None:
        names = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
        self.variables: dict[str, str | None] = {name: after.get(name) for name in sorted(names)}
        """The variables that the imports have set; None as a value means removed."""
        self._found = {name: before.get(name) for name in names}

    def apply(self, *, always: bool = False) -> None:
        """Make the same changes here, except to variables that have other values here than before the
        imports.

        With `always`, make all changes: the imports are known to have read the same values.
        """
        for name, value in self.variables.items():
            if not always and os.environ.get(name) != self._found[name]:
                continue
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
