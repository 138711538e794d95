"""Says how soon an editor sees an edit of vLLM 0.11.0, and how soon its folder: `./dev bench lsp`"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import measure, tool
from benchmarks.editor import Editor, editor
from benchmarks.session import LEAF, NAME, editable
from published.errors import UnavailableError

#: What was promised: from the last key to the answer, and from opening to the first one beside a cold check.
MOST_MEDIAN, MOST_95 = 0.3, 0.7
MOST_COLD = 1.3
MOST_GROWTH = 1.1
#: By then a server has seen everything of an edited file that there is to see.
_SETTLED = 20


@dataclass(frozen=True, slots=True)
class Session:
    """The waiting times of somebody who edits one file."""

    opened: float
    """Seconds from the start of the server to the first answer."""
    edits: tuple[float, ...]
    settled: int
    """The resident memory after the first edits, in bytes."""
    final: int


def resident(pid: int) -> int:
    """The resident memory of a process, in bytes."""
    text = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("VmRSS:"))


async def edited(folder: Path, rounds: int, environment: Mapping[str, str]) -> Session:
    """Open the folder and edit its leaf."""
    began = time.perf_counter()
    async with editor(folder, environment=environment) as opened:
        opened.open(LEAF)
        await opened.answered(LEAF)
        first = time.perf_counter() - began
        text = opened.texts[LEAF]
        edits, settled = [], 0
        for number in range(rounds):
            edits.append(await _edit(opened, f"{text}\nEDIT_{number} = {number}\n"))
            if number == _SETTLED:
                settled = resident(opened.server)
        return Session(first, tuple(edits), settled, resident(opened.server))


async def _edit(opened: Editor, text: str) -> float:
    began = time.perf_counter()
    opened.edit(LEAF, text)
    await opened.answered(LEAF)
    return time.perf_counter() - began


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 when a promise is missed and `--strict` is given."""
    options = _options(arguments)
    try:
        cold, session = _measured(options.rounds)
    except UnavailableError as error:
        print(f"{NAME}: {error}")
        return 1
    promises = {
        "first answer beside a cold check": (session.opened / cold, MOST_COLD),
        "an edit, median (s)": (statistics.median(session.edits), MOST_MEDIAN),
        "an edit, 95th percentile (s)": (statistics.quantiles(session.edits, n=20)[-1], MOST_95),
        f"memory after {options.rounds} edits": (session.final / session.settled, MOST_GROWTH),
    }
    print(f"cold check {cold:.2f} s, first answer {session.opened:.2f} s", end=", ")
    settled, final = (size / 1e6 for size in (session.settled, session.final))
    print(f"memory {settled:.1f} MB after {_SETTLED} edits, {final:.1f} MB at the end")
    for name, (value, most) in promises.items():
        print(f"{name:34} {value:6.2f}   (promised {most}: {'kept' if value <= most else 'NOT kept'})")
    missed = any(value > most for value, most in promises.values())
    return 1 if missed and options.strict else 0


def _measured(rounds: int) -> tuple[float, Session]:
    """The seconds of a cold check, and a session on the same files."""
    with editable() as scratch:
        folder = scratch / "sources"
        command = [*tool.command(folder / "vllm", "--exit-zero", "--format", "json"), "--output"]
        cold = measure.once(
            [*command, str(scratch / "report")], environment=tool.environment(scratch / "cache-of-check")
        )
        environment = tool.environment(scratch / "cache-of-server")
        return cold.seconds, asyncio.run(edited(folder, rounds, environment))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev bench lsp", description=__doc__)
    parser.add_argument("--rounds", type=int, default=60, help="how many edits (default 60)")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a promise is missed")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
