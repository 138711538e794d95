"""Whether crashes leave core files behind: `ulimit -c` and the pattern of core files.

A core file of a program with devices can be tens of gigabytes. If it is a plain file in the program's folder,
of unlimited size, repeated crashes fill the disk.

- **ok**: core files are off, limited, or collected by a program of the system.
- **warn**: they are unlimited files in the folder where a program runs.
- **skipped**: this is not Linux.

It never fails.
"""

from __future__ import annotations

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.diagnose.doctor.limits.dev_shm import size
from coldfork.model.diagnosis import Answer, ok, skipped, warn

_PATTERN = "/proc/sys/kernel/core_pattern"


def examine(facts: Facts) -> Answer:
    """Judge the size limit of core files together with their name pattern."""
    limit = facts.system.limits.get("CORE")
    if limit is None or not facts.system.is_linux:
        return skipped(f"core files are examined only on Linux, and this is {facts.system.platform}")
    soft, _ = limit
    pattern = (facts.files.text(_PATTERN) or "").strip()
    if pattern.startswith("|"):
        return ok(f"core files are collected by {pattern[1:].split()[0]}")
    if soft == 0:
        return ok("a crash leaves no core file; ulimit -c unlimited keeps one")
    if soft is not None:
        return ok(f"a crash leaves a core file of at most {size(soft)}")
    if pattern.startswith("/"):
        return ok(f"core files are kept as {pattern}")
    return warn(
        f"a crash leaves a core file of any size in the folder of the program, named {pattern or 'core'}",
        "run ulimit -c 0 if nobody reads them, or set a pattern that puts them on a separate disk",
    )
