"""Whether memory and descriptors stay flat while a pool works for minutes: `./dev bench pool --soak 10`"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks.pool.programs import line, running

#: What was promised: the last third may hold so much more than the second, which has been warm for long.
MOST_GROWTH = 0.05
MOST_MEGABYTES = 2.0
"""... or so much, of little."""
FLAT = ("descriptors", "threads", "processes")
MEMORY = ("own", "others")


def main(python: Path, minutes: float, file: Path | None) -> int:
    """Watch and print; status 1 if something grows."""
    samples: list[dict[str, float]] = []
    with running(python, "benchmarks.pool.soak_program", str(minutes * 60)) as (program, said):
        while "left" not in (found := line(program, said)):
            samples.append(found)
            if len(samples) % 12 == 1:
                print(_told(found), flush=True)
    troubles = [*judged(samples), *([f"left behind: {found['left']}"] if found["left"] else [])]
    print(_told(samples[-1]), *(troubles or ["nothing grows, and nothing was left behind"]), sep="\n")
    if file is not None:
        file.write_text(json.dumps({"samples": samples, "end": found}, indent=2) + "\n", encoding="utf-8")
    return 1 if troubles else 0


def judged(samples: Sequence[Mapping[str, float]]) -> list[str]:
    """Return what has grown from the second third to the last."""
    third = len(samples) // 3
    if third < 2:
        return [f"{len(samples)} samples are too few to tell"]
    troubles = []
    for name in (*MEMORY, *FLAT):
        before = median(each[name] for each in samples[third : 2 * third])
        after = median(each[name] for each in samples[2 * third :])
        allowed = max(before * MOST_GROWTH, MOST_MEGABYTES) if name in MEMORY else 0
        if after - before > allowed:
            troubles.append(f"{name} has grown from {before:.1f} to {after:.1f}")
    return troubles


def _told(found: Mapping[str, float]) -> str:
    return (
        f"{found['done']:8.0f} tasks done, {found['failed']:.0f} failed as they should; "
        f"{found['own']:.1f} MB here, {found['others']:.1f} MB in {found['processes']:.0f} other processes; "
        f"{found['descriptors']:.0f} descriptors, {found['threads']:.0f} threads"
    )
