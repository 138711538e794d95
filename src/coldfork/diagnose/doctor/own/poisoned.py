"""Whether Python processes of this user hold a device that they cannot use: what `coldfork ps` shows.

Such a process was forked from one in which the device was awake. It fails or hangs when it touches the
device, and may hold device memory until it ends. A recording by `coldfork run` is read only if it is smaller
than a megabyte; `coldfork ps` reads all.

- **ok**: none does.
- **fail**: some do.
- **skipped**: this is not Linux.

It never warns.
"""

from __future__ import annotations

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.model.diagnosis import Answer, fail, ok, skipped
from coldfork.model.running import RunningPython


def examine(facts: Facts) -> Answer:
    """Inspect each Python process of this user from outside."""
    if facts.census is None:
        return skipped(f"processes are examined only on Linux, and this is {facts.system.platform}")
    census = facts.census()
    count = len(census.processes)
    if not census.poisoned:
        return ok(
            f"none of {count} Python processes of this user" if count else "no other Python process runs"
        )
    return fail(
        f"{len(census.poisoned)} of {count} Python processes of this user hold a device that they cannot use",
        "coldfork ps shows them; end them, and start them by spawn",
        details=map(_told, census.poisoned),
    )


def _told(process: RunningPython) -> str:
    names = ", ".join(state.accelerator for state in process.poisoned)
    return f"{process.pid}: {names}, {' '.join(process.command) or process.executable or 'unknown program'}"
