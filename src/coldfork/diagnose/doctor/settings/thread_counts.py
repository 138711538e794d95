"""Whether the variables for pools of threads make sense together: OMP_NUM_THREADS and its like.

Every process creates its own pools: eight workers with a thread for each of 64 processors are 512 threads.

- **ok**: they are not set, or they are numbers that suit the processors.
- **warn**: a value is not a number or exceeds the processors that this process may use; two libraries are
  told different numbers; or KMP_DUPLICATE_LIB_OK silences Intel's warning of two runtimes in one process.

It never fails, and is never skipped.
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.model.diagnosis import Answer, ok, together, warn

_NAMES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "POLARS_MAX_THREADS",
)
_SILENCED = "KMP_DUPLICATE_LIB_OK"


def examine(facts: Facts) -> Answer:
    """Compare the variables with the number of processors and with each other."""
    given = {name: facts.variables[name] for name in _NAMES if facts.variables.get(name)}
    said = ", ".join(f"{name}={value}" for name, value in given.items())
    well = (
        said
        or f"no number of threads is set: each process may start {facts.system.cpus} threads for each pool"
    )
    return together(_troubles(given, facts), ok(well))


def _troubles(given: dict[str, str], facts: Facts) -> Iterator[Answer]:
    for name, value in given.items():
        # OMP_NUM_THREADS may list one number for each level of nested parallel regions.
        numbers = value.split(",") if name == "OMP_NUM_THREADS" else [value]
        if not all(number.strip().isdecimal() and int(number) > 0 for number in numbers):
            yield warn(
                f"{name}={value} is not a number of threads, and is ignored",
                f"set {name} to a number, or unset it",
            )
        elif int(numbers[0]) > facts.system.cpus:
            yield warn(
                f"{name}={value} on {facts.system.cpus} processors: the threads wait for each other",
                f"set {name} to the processors divided by the number of processes",
            )
    if facts.variables.get(_SILENCED, "").lower() in ("1", "true"):
        yield warn(
            f"{_SILENCED} hides that a process has two OpenMP runtimes; results may be wrong",
            "coldfork doctor openmp says which packages bring them",
        )
    pools = {given[name] for name in _NAMES[:3] if name in given}
    if len(pools) > 1:
        said = ", ".join(f"{name}={given[name]}" for name in _NAMES[:3] if name in given)
        yield warn(
            f"{said}: the pools get different numbers",
            "give them the same number, or set only OMP_NUM_THREADS",
        )
