"""Measures the worker pool beside its peers: `./dev bench pool [--rounds 5] [--only NAME...] [--json FILE]`

Each contender has a process of its own in each round, and they take turns, so that what the machine does
besides weighs on all of them; who begins changes with the round. All run in one environment. With `--faults`
it is measured how soon a killed worker, a deadline and a killed program are seen to; with `--soak MINUTES`
whether memory and descriptors stay flat; `--mixtures N` mixes interrupts, forks, deaths and callbacks that
misbehave at random, and counts what is not settled. Ratios are those of medians, a peer's over ours.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.measure import Spread
from benchmarks.pool import faults, mixtures, soak
from benchmarks.pool.contenders import CONTENDERS, USUAL
from benchmarks.pool.programs import Lost, environment, measure
from published.errors import UnavailableError

#: What was promised.
MOST_TRIP_MICROSECONDS = 150.0
MOST_SENT_MILLISECONDS = 60.0
OURS = "coldfork"
RIVAL = "multiprocessing"

#: What is measured: its name, its words, the unit, how many of the unit are in one, whether more is better.
MEASURES = (
    ("trip", "1 KB there and nothing back", "us", 1e6, False),
    ("rate", "tasks a second, submitted one by one", "/s", 1.0, True),
    ("map", "tasks a second, by the pool's own map", "/s", 1.0, True),
    ("sent", "50 MB array in", "ms", 1e3, False),
    ("echoed", "50 MB array in and out", "ms", 1e3, False),
    ("cold", "from nothing to the first result", "ms", 1e3, False),
    ("new", "one more worker", "ms", 1e3, False),
)

Figures = Mapping[str, Mapping[str, Sequence[float]]]
"""By contender and measure, a figure for each round."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; status 1 if a promise was not kept."""
    chosen = parser().parse_args(arguments)
    if not sys.platform.startswith("linux"):
        raise UnavailableError("the worker pool is for Linux only")
    if chosen.mixtures:
        return mixtures.main(chosen.mixtures, chosen.first, chosen.json)
    python = environment(chosen.modules, {"ray", "dask"} & set(chosen.only or ()))
    if chosen.soak:
        return soak.main(python, chosen.soak, chosen.json)
    if chosen.faults:
        return faults.main(python, chosen.rounds, chosen.json)
    names = tuple(chosen.only or USUAL)
    before = os.getloadavg()[0]
    figures, lost = rounds(python, names, chosen)
    after = os.getloadavg()[0]
    print(f"{chosen.rounds} rounds, load {before:.1f} before and {after:.1f} after, {os.cpu_count()} cores")
    print("\n".join([*table(figures), *lost]))
    if chosen.json is not None:
        write(chosen.json, figures, lost, (before, after))
    return 0 if judged(figures) else 1


def parser() -> argparse.ArgumentParser:
    """The switches."""
    made = argparse.ArgumentParser(prog="./dev bench pool", description=__doc__)
    made.add_argument("--rounds", type=int, default=5, help="how many of each")
    made.add_argument("--only", nargs="+", choices=list(CONTENDERS), help="without: all but ray and dask")
    made.add_argument("--modules", nargs="*", default=["numpy"], help="what workers have ready, e.g. torch")
    made.add_argument("--calls", type=int, default=300, help="how many calls, one after another")
    made.add_argument("--tasks", type=int, default=10_000, help="how many tasks at once")
    made.add_argument("--arrays", type=int, default=3, help="how many arrays; 0: none")
    made.add_argument("--json", type=Path, help="write the figures to this file, too")
    made.add_argument("--faults", action="store_true", help="measure what faults cost instead")
    made.add_argument(
        "--mixtures", type=int, default=0, metavar="N", help="mix N times what callers do wrong"
    )
    made.add_argument("--first", type=int, default=1, metavar="SEED", help="the seed of the first mixture")
    made.add_argument(
        "--soak", type=float, default=0.0, metavar="MINUTES", help="watch memory and descriptors"
    )
    return made


def rounds(
    python: Path, names: Sequence[str], chosen: argparse.Namespace
) -> tuple[dict[str, dict[str, list[float]]], list[str]]:
    """Return the contenders' measurements, and the contenders that could not go on."""
    job = {name: getattr(chosen, name) for name in ("modules", "calls", "tasks", "arrays")}
    figures: dict[str, dict[str, list[float]]] = {name: {} for name in names}
    lost: dict[str, str] = {}
    for turn in range(chosen.rounds):
        start = turn % len(names)
        for name in (*names[start:], *names[:start]):
            if name in lost:
                continue
            try:
                found = measure(python, "benchmarks.pool.program", name, json.dumps(job))
            except Lost as error:
                lost[name] = f"{name} has left the race in round {turn + 1}: {error}"
                continue
            for measured, figure in found.items():
                figures[name].setdefault(measured, []).append(figure)
        print(f"round {turn + 1} of {chosen.rounds}", file=sys.stderr, flush=True)
    return figures, list(lost.values())


def table(figures: Figures) -> list[str]:
    """Ratios first, then medians with their spread."""
    lines = []
    for measured, words, unit, scale, more in MEASURES:
        lines += ["", f"{words} ({'more' if more else 'less'} is better)"]
        ours = figures.get(OURS, {}).get(measured)
        for name, found in figures.items():
            if samples := found.get(measured):
                lines.append(_line(name, samples, ours, unit, scale, more))
    return lines


def _line(
    name: str, samples: Sequence[float], ours: Sequence[float] | None, unit: str, scale: float, more: bool
) -> str:
    spread = Spread.of(samples)
    ratio = "      "
    if ours is not None:
        times = spread.median / Spread.of(ours).median
        ratio = f"{1 / times if more else times:5.2f}x"
    return (
        f"  {ratio} {name:<19}{spread.median * scale:9.0f} {unit:<3}"
        f"({spread.low * scale:.0f} to {spread.high * scale:.0f}, IQR {spread.interquartile * scale:.0f}, "
        f"n={spread.runs})"
    )


def judged(figures: Figures) -> bool:
    """Print each promise and whether it was kept; without ours there is none."""
    ours, rival = figures.get(OURS, {}), figures.get(RIVAL, {})
    promises = []
    if "trip" in ours:
        trip = Spread.of(ours["trip"]).median * 1e6
        promises.append((f"{trip:.0f} us for 1 KB", "at most 150", trip <= MOST_TRIP_MICROSECONDS))
    if "rate" in ours and "rate" in rival:
        times = Spread.of(ours["rate"]).median / Spread.of(rival["rate"]).median
        promises.append((f"{times:.2f} times the tasks of {RIVAL}.Pool", "more than 1", times > 1))
    if "sent" in ours:
        sent = Spread.of(ours["sent"]).median * 1e3
        promises.append((f"{sent:.0f} ms for 50 MB", "at most 60", sent <= MOST_SENT_MILLISECONDS))
    print()
    for text, bound, kept in promises:
        print(f"{text}; promised: {bound}: {'kept' if kept else 'NOT kept'}")
    return all(kept for *_, kept in promises)


def write(file: Path, figures: Figures, lost: Sequence[str], load: tuple[float, float]) -> None:
    """Keep the figures, in seconds and per second."""
    content = {
        "load": load,
        "lost": list(lost),
        "figures": {
            name: {measured: asdict(Spread.of(samples)) for measured, samples in found.items()}
            for name, found in figures.items()
        },
    }
    file.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
