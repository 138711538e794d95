"""Measures what isolation costs: `./dev bench exec [--rounds 31] [--storm 200] [--json FILE]`

Pairs: the same script by a bare `subprocess.run` and by `coldfork.run_script`, alternately, so that what the
machine is busy with weighs on both. Then many at once from an event loop, and how long it was held.
"""

from __future__ import annotations

import argparse
import asyncio
import compileall
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.measure import Spread
from published.errors import UnavailableError

ROOT = Path(__file__).resolve().parent.parent
#: What was promised: so much more, in the median, than starting the same script directly.
MOST_MILLISECONDS = 60.0
MOST_HELD_MILLISECONDS = 50.0
SCRIPTS = {
    "empty": "",
    "writes": "import json, sys\njson.dump({'read': len(sys.argv)}, sys.stdout)\n",
    "busy": "total = 0\nfor number in range(2_000_000):\n    total += number\nprint(total)\n",
}


@dataclass(frozen=True, slots=True)
class Pairs:
    """One script, run both ways."""

    script: str
    plain: Spread
    isolated: Spread
    more: Spread
    """What isolation added, pair by pair."""

    def __str__(self) -> str:
        return (
            f"{self.script:<6} subprocess.run {_ms(self.plain)}   run_script {_ms(self.isolated)}   "
            f"more {_ms(self.more)}"
        )


@dataclass(frozen=True, slots=True)
class Storm:
    """Many scripts at once from one event loop."""

    scripts: int
    seconds: float
    held: float
    """The longest that a callback held the loop, in milliseconds, without the time that the processors had
    gone to others."""
    late: float
    """The longest that the loop was late, in milliseconds, whoever was to blame."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; status 1 if a promise was not kept."""
    parser = argparse.ArgumentParser(prog="./dev bench exec", description=__doc__)
    parser.add_argument("--rounds", type=int, default=31, help="how many pairs of each script")
    parser.add_argument("--storm", type=int, default=200, help="how many scripts at once; 0 for none")
    parser.add_argument("--json", type=Path, help="write the figures to this file, too")
    chosen = parser.parse_args(arguments)
    if not sys.platform.startswith("linux"):
        raise UnavailableError("scripts are isolated on Linux only")
    # What a user has: compiled once, when the package was installed.
    compileall.compile_dir(ROOT / "src" / "coldfork", quiet=2)
    scratch = Path(tempfile.mkdtemp(prefix="coldfork-exec-"))
    try:
        pairs = [pair(scratch, name, text, chosen.rounds) for name, text in SCRIPTS.items()]
        storm = asyncio.run(weather(scratch, chosen.storm)) if chosen.storm else None
    finally:
        shutil.rmtree(scratch)
    for each in pairs:
        print(each)
    worst = max(each.more.median for each in pairs) * 1000
    kept = worst <= MOST_MILLISECONDS
    print(f"isolation adds {worst:.1f} ms at most; promised are {MOST_MILLISECONDS:.0f} ms: {_kept(kept)}")
    if storm is not None:
        calm = storm.held <= MOST_HELD_MILLISECONDS
        kept = kept and calm
        print(
            f"{storm.scripts} at once took {storm.seconds:.1f} s; the loop was held for {storm.held:.1f} ms "
            f"at most: {_kept(calm)}; it was late by {storm.late:.1f} ms at most, whoever was to blame"
        )
    if chosen.json is not None:
        figures = {"pairs": [asdict(each) for each in pairs], "storm": storm and asdict(storm)}
        chosen.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0 if kept else 1


def pair(scratch: Path, name: str, text: str, rounds: int) -> Pairs:
    """Run one script both ways, alternately."""
    from coldfork import run_script

    script = scratch / f"{name}.py"
    script.write_text(text, encoding="utf-8")
    runs = scratch / "runs"

    def plain() -> None:
        subprocess.run([sys.executable, script], capture_output=True, check=True)

    def isolated() -> None:
        run_script(script, log_dir=runs, check=True)

    _timed(plain), _timed(isolated)
    taken = [(_timed(plain), _timed(isolated)) for _ in range(rounds)]
    return Pairs(
        name,
        Spread.of([one for one, _ in taken]),
        Spread.of([other for _, other in taken]),
        Spread.of([other - one for one, other in taken]),
    )


async def weather(scratch: Path, scripts: int) -> Storm:
    """Run many at once, and watch the loop."""
    from coldfork import arun_script

    script = scratch / "empty.py"
    held: list[float] = []
    late: list[float] = []
    _watch_callbacks(held)

    async def beat() -> None:
        while True:
            asked = time.perf_counter()
            await asyncio.sleep(0.005)
            late.append(time.perf_counter() - asked - 0.005)

    beating = asyncio.create_task(beat())
    began = time.perf_counter()
    results = await asyncio.gather(*(arun_script(script, log_dir=scratch / "storm") for _ in range(scripts)))
    seconds = time.perf_counter() - began
    beating.cancel()
    for result in results:
        if not result.ok:
            raise UnavailableError(f"{result.explained()}: {result.stderr}")
    return Storm(scripts, seconds, max(held) * 1000, max(late) * 1000)


def _watch_callbacks(held: list[float]) -> None:
    """Note how long each callback of the loop takes, less what the kernel gave to others meanwhile."""
    handles: type = asyncio.Handle
    original: Callable[[object], None] = handles._run  # type: ignore[attr-defined]

    def _run(handle: object) -> None:
        waited, began = _waiting(), time.perf_counter()
        original(handle)
        ended = time.perf_counter()
        held.append(ended - began - (_waiting() - waited))

    handles._run = _run  # type: ignore[attr-defined]


def _waiting() -> float:
    """The seconds that threads of this process were ready to run and did not."""
    total = 0
    for thread in os.listdir("/proc/self/task"):  # noqa: PTH208
        try:
            counted = Path("/proc/self/task", thread, "schedstat").read_text(encoding="ascii")
        except OSError:
            continue
        total += int(counted.split()[1])
    return total / 1e9


def _timed(work: Callable[[], None]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _ms(spread: Spread) -> str:
    return f"{spread.median * 1000:6.1f} ms (IQR {spread.interquartile * 1000:.1f})"


def _kept(kept: bool) -> str:
    return "kept" if kept else "NOT kept"


if __name__ == "__main__":
    sys.exit(main())
