"""`./dev mutants`: parse, run, report."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from mutants.crew import Crew, hired
from mutants.operators import Mutant, candidates, is_valid
from mutants.recording import Test, digests, instrument, record, recorded, restore, test_files
from mutants.reports import FORMATS
from mutants.results import Results
from mutants.sampling import sample
from mutants.trials import Verdict, put
from mutants.workers import Worker

ROOMS = ("source", "start", "graphs", "rules")
DESCRIPTION = """\
Change one line of the code at a time, run the tests that run this line, and see whether one of them fails.
A change that no test notices has survived: either it does no harm, or a test is missing.
"""
EPILOG = """\
examples:
  ./dev mutants                                 300 changes of source, start, graphs and rules
  ./dev mutants rules --sample 40               a small sample of one room
  ./dev mutants source/analysis.py --all        every change of one module
  ./dev mutants source --seed 7 --format json   another sample, for a program to read

The first run records which test runs which lines, and keeps that in .cache/mutants until the code changes;
when only a file of tests changes, this file alone is recorded anew. Ctrl-C prints what is known so far, and
the same command then goes on from there.
A survivor is printed with its place, the change, and how many tests ran:

  src/.../loops.py:17: survived (number) in unrolled
    - 5
    + 6
    = all 214 tests that run this line passed

Put the change into the line, write a test that fails, take the change out again. The exit status is 0
whatever survives; it is 1 when the score is below --at-least.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; its exit status."""
    options = _parser().parse_args(arguments)
    root = options.root.resolve()
    rooms = tuple(room.rstrip("/") for room in options.rooms) or ROOMS
    try:
        chosen = _chosen(root, rooms, None if options.all else options.sample, options.seed)
    except FileNotFoundError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    files = options.tests or test_files(root, rooms)
    kept = root / ".cache" / "mutants"
    results = Results(kept, digests(root, files), options.budget)
    verdicts = {} if options.fresh else results.known(chosen)
    _say(f"{len(chosen)} changes, {len(verdicts)} of them known; {len(files)} files of tests")
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with tempfile.TemporaryDirectory(prefix="coldfork-mutants-", ignore_cleanup_errors=True) as folder:
            left = [mutant for mutant in chosen if mutant not in verdicts]
            if left:
                with hired(root, Path(folder), options.jobs) as crew:
                    tests = _tests(root, files, kept, crew)
                    _try(crew, left, tests, options.budget, results, verdicts)
    except KeyboardInterrupt:
        _say("stopped; the same command goes on from here")
    finally:
        signal.signal(signal.SIGTERM, previous)
    done = [verdicts[mutant] for mutant in chosen if mutant in verdicts]
    print(FORMATS[options.format](done, len(chosen)), end="")
    killed = sum(not one.survived for one in done)
    return int(bool(done) and 100 * killed < options.at_least * len(done))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./dev mutants",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "rooms",
        nargs="*",
        metavar="ROOM",
        help="folders or modules below src/coldfork (source start graphs rules)",
    )
    add("--sample", type=int, default=300, metavar="N", help="how many changes to try (300)")
    add("--all", action="store_true", help="try every change")
    add(
        "--seed", type=int, default=0, metavar="S", help="which sample: the same number, the same changes (0)"
    )
    add("--jobs", type=int, default=min(os.cpu_count() or 1, 8), metavar="J", help="how many at a time")
    add(
        "--budget",
        type=float,
        default=60,
        metavar="SECONDS",
        help="of tests for one change, fastest first (60)",
    )
    add("--tests", nargs="+", metavar="FILE", help="files of tests to use (those that import the rooms)")
    add(
        "--at-least", type=float, default=0, metavar="SCORE", help="fail below this many in a hundred noticed"
    )
    add("--format", choices=sorted(FORMATS), default="text", help="how to print the results (text)")
    add("--fresh", action="store_true", help="try changes again whose outcome is known")
    add("--root", type=Path, default=Path.cwd(), help=argparse.SUPPRESS)
    return parser


def _chosen(root: Path, rooms: Sequence[str], size: int | None, seed: int) -> list[Mutant]:
    """The changes to try."""
    sources: dict[str, bytes] = {}
    found: dict[str, list[Mutant]] = {}
    for room in rooms:
        place = root / "src" / "coldfork" / room
        paths = sorted(place.rglob("*.py")) if place.is_dir() else [place]
        found[room] = []
        for path in paths:
            name = path.relative_to(root).as_posix()
            if name not in sources:
                sources[name] = path.read_bytes()
                found[room] += candidates(name, sources[name])
    if size is None:
        return [one for room in found.values() for one in room if is_valid(one, sources[one.path])]
    return sample(found, size, seed, lambda mutant: is_valid(mutant, sources[mutant.path]))


def _tests(root: Path, files: Sequence[str], kept: Path, crew: Crew) -> list[Test]:
    """Return what the tests run, recorded where it is not known."""

    def run(missing: dict[str, Path]) -> None:
        lines = instrument(crew.copies)

        def one(worker: Worker, name: str) -> str:
            record(worker, name, lines, missing[name])
            return name

        for number, name in enumerate(crew.share(missing, one), 1):
            _say(f"recorded {name} ({number} of {len(missing)})")

    tests = recorded(root, files, kept, run)
    restore(crew.copies)
    return tests


def _try(
    crew: Crew,
    mutants: Sequence[Mutant],
    tests: Sequence[Test],
    budget: float,
    results: Results,
    verdicts: dict[Mutant, Verdict],
) -> None:
    """Put changes to the tests, and keep each verdict at once."""
    for number, verdict in enumerate(crew.share(mutants, lambda w, one: put(one, tests, w, budget)), 1):
        verdicts[verdict.mutant] = verdict
        results.add(verdict)
        place = f"{verdict.mutant.path}:{verdict.mutant.line}"
        _say(f"[{number}/{len(mutants)}] {verdict.outcome.value}: {place} ({verdict.ran} tests)")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
