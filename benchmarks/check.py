"""Times coldfork beside its peers on the same fresh trees: `./dev bench check [--tree NAME] [--rounds 7]`"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks import measure, mount, targets, tools_under_test, trees
from benchmarks.cases import Fetcher
from benchmarks.measure import Spread
from benchmarks.tools_under_test import PEERS, Job, Peer
from benchmarks.trees import Copy, Tree
from published import places
from published.errors import UnavailableError
from published.sources import Wanted

FRACTIONS = (0.1, 0.2, 0.35, 0.6, 0.8, 1.0)
#: Timed in parts, alone: the dependencies would cost the same at every size.
SCALING = Tree("vllm-0.33.0", Wanted("vllm", "0.33.0"), "vllm")
STATES = ("cold", "warm", "edited")


@dataclass(frozen=True, slots=True)
class Bench:
    """Where a session of measuring keeps its things, and which peers take part."""

    fetch: Fetcher
    scratch: Path
    peers: dict[str, Path]
    rounds: int

    def package(self, tree: Tree) -> Path:
        """The published package of a tree."""
        return mount.package_root(self.fetch(tree.wanted), tree.top) / tree.top

    def beside(self, tree: Tree) -> Path | None:
        """The tree's dependencies, mounted once."""
        folder = self.scratch / f"beside-{tree.name}"
        if folder.exists() or not tree.beside:
            return folder if tree.beside else None
        for wanted in tree.beside:
            self.fetch(wanted)
        return trees.mounted(tree, folder, self.fetch.folder)


@dataclass(slots=True)
class Figures:
    """The measurements of one tree."""

    tree: str
    files: int = 0
    megabytes: float = 0.0
    seconds: dict[str, list[float]] = field(default_factory=dict)
    cpu_seconds: dict[str, list[float]] = field(default_factory=dict)
    peak_megabytes: dict[str, float] = field(default_factory=dict)
    troubles: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, run: measure.Run) -> None:
        """Note one run of a tool."""
        self.seconds.setdefault(name, []).append(run.seconds)
        self.cpu_seconds.setdefault(name, []).append(run.cpu_seconds)

    def drop(self, name: str, trouble: str) -> None:
        """Note why a tool could not be timed; what it did before is no comparison any more."""
        self.troubles[name] = trouble
        self.seconds.pop(name, None)
        self.cpu_seconds.pop(name, None)

    def spread(self, name: str) -> Spread:
        """Return the spread of one tool's runs."""
        return Spread.of(self.seconds[name])

    def ratios(self, name: str, to: str) -> list[float]:
        """One tool's time over another's, round by round."""
        return _ratios(self.seconds[name], self.seconds[to])

    def cpu_ratios(self, name: str, to: str) -> list[float]:
        """The same of what their processors spent."""
        return _ratios(self.cpu_seconds[name], self.cpu_seconds[to])


def _ratios(mine: Sequence[float], theirs: Sequence[float]) -> list[float]:
    return [one / other for one, other in zip(mine, theirs, strict=True)]


def tree_figures(bench: Bench, tree: Tree) -> Figures:
    """Measure one tree: interleaved rounds, then a run of each for memory."""
    figures = Figures(tree.name)
    peers = [peer for peer in PEERS if peer.name in bench.peers and _takes_part(peer, tree)]
    for turn in range(bench.rounds):
        _round(bench, tree, peers, figures, turn)
    _memory(bench, tree, peers, figures)
    return figures


def _takes_part(peer: Peer, tree: Tree) -> bool:
    """Peers that know nothing of dependencies are timed on the package alone."""
    return peer.reads_dependencies or not tree.beside


def _round(bench: Bench, tree: Tree, peers: Sequence[Peer], figures: Figures, turn: int) -> None:
    """One round on one fresh copy; who begins changes from round to round."""
    with tempfile.TemporaryDirectory(dir=bench.scratch) as place:
        copied = _fresh(bench, tree, Path(place))
        figures.files, figures.megabytes = copied.files, copied.megabytes
        order: list[Peer | None] = [None, *peers]
        start = turn % len(order)
        for entrant in order[start:] + order[:start]:
            if entrant is None:
                _time_coldfork(copied, Path(place), figures)
            elif entrant.name not in figures.troubles:
                _time_peer(entrant, bench.peers[entrant.name], copied, Path(place), figures)


def _fresh(bench: Bench, tree: Tree, place: Path) -> Copy:
    return trees.copy(bench.package(tree), place / "tree", trees.fresh_name(), bench.beside(tree))


def _time_coldfork(copied: Copy, place: Path, figures: Figures) -> None:
    cache = place / "cache"
    for state in STATES:
        if state == "edited":
            trees.touch(copied)
        run = _once(tools_under_test.coldfork(copied, cache, place / "coldfork.json"))
        _require_everything_read(place / "coldfork.json", copied)
        figures.add(state, run)
    # The other tools of the round shall read the same bytes, whoever came first.
    shutil.rmtree(cache, ignore_errors=True)


def _require_everything_read(output: Path, copied: Copy) -> None:
    """A fast run that left files out is no fast run."""
    modules = json.loads(output.read_text(encoding="utf-8"))["stats"]["modules"]
    if modules < 0.95 * copied.files:
        raise UnavailableError(
            f"coldfork read {modules} modules of {copied.files} files; this is not a measurement"
        )


def _time_peer(peer: Peer, commands: Path, copied: Copy, place: Path, figures: Figures) -> None:
    try:
        run = _once(Job(peer.command(commands, copied, place), statuses=peer.statuses))
    except UnavailableError as error:
        figures.drop(peer.name, str(error))
        return
    figures.add(peer.name, run)


def _memory(bench: Bench, tree: Tree, peers: Sequence[Peer], figures: Figures) -> None:
    with tempfile.TemporaryDirectory(dir=bench.scratch) as place:
        copied = _fresh(bench, tree, Path(place))
        jobs = {
            "coldfork": tools_under_test.coldfork(
                copied, Path(place) / "cache", Path(place) / "coldfork.json"
            )
        }
        for peer in peers:
            if peer.name not in figures.troubles:
                command = peer.command(bench.peers[peer.name], copied, Path(place))
                jobs[peer.name] = Job(command, statuses=peer.statuses)
        for name, job in jobs.items():
            figures.peak_megabytes[name] = (_once(job, memory=True).peak_bytes or 0) / 1e6


def _once(job: Job, memory: bool = False) -> measure.Run:
    return measure.once(job.command, environment=job.environment, statuses=job.statuses, memory=memory)


def scaling(bench: Bench, tree: Tree) -> list[tuple[float, float]]:
    """Cold seconds over megabytes, for growing parts of a tree."""
    package, beside = bench.package(tree), bench.beside(tree)
    rows: list[tuple[float, float]] = []
    for part in trees.growing(package, FRACTIONS):
        samples: list[float] = []
        size = 0.0
        for _ in range(min(bench.rounds, 3)):
            with tempfile.TemporaryDirectory(dir=bench.scratch) as place:
                copied = trees.copy(package, Path(place) / "tree", trees.fresh_name(), beside, part)
                job = tools_under_test.coldfork(copied, Path(place) / "cache", Path(place) / "coldfork.json")
                samples.append(_once(job).seconds)
                size = copied.megabytes
        rows.append((size, Spread.of(samples).median))
    return rows


def headline(figures: Figures) -> dict[str, float]:
    """The figures that promises are about."""
    found = {state: figures.spread(state).median for state in STATES}
    if "lifeguard" in figures.seconds:
        found["cold / lifeguard"] = Spread.of(figures.ratios("cold", "lifeguard")).median
        found["cold CPU / lifeguard"] = Spread.of(figures.cpu_ratios("cold", "lifeguard")).median
    if "coldfork" in figures.peak_megabytes:
        found["peak memory"] = figures.peak_megabytes["coldfork"]
    return found


def show(figures: Figures) -> None:
    """Print one tree's figures: ratios, then times, memory, promises."""
    print(f"\n{figures.tree}: {figures.files} files, {figures.megabytes:.1f} MB in the package")
    peers = [name for name in figures.seconds if name not in STATES]
    for name in peers:
        wall, cpu = Spread.of(figures.ratios("cold", name)), Spread.of(figures.cpu_ratios("cold", name))
        print(
            f"  coldfork cold takes {wall.median:.2f} of {name}'s time ({wall.low:.2f} to {wall.high:.2f})"
            f" and {cpu.median:.2f} of its CPU seconds ({cpu.low:.2f} to {cpu.high:.2f})"
        )
    for name in (*STATES, *peers):
        label = f"coldfork {name}" if name in STATES else name
        cpu_seconds = Spread.of(figures.cpu_seconds[name]).median
        print(
            f"  {label:18} {figures.spread(name)}  CPU {cpu_seconds:6.2f} s  n={len(figures.seconds[name])}"
        )
    for name, peak in figures.peak_megabytes.items():
        print(f"  {name:18} {peak:6.0f} MB at the peak (sum of resident memory over its processes, sampled)")
    for name, trouble in figures.troubles.items():
        print(f"  {name} could not be timed: {trouble}")
    for kept in targets.compare(figures.tree, headline(figures)):
        print(f"  {kept}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 when a promise is missed and `--strict` is given."""
    options = _options(arguments)
    try:
        results, rows = _measure(options)
    except UnavailableError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if options.output:
        _write(Path(options.output), results, rows)
    kept = [one for figures in results for one in targets.compare(figures.tree, headline(figures))]
    missed = [one for one in kept if not one.met]
    print(f"\n{len(kept) - len(missed)} of {len(kept)} promises met")
    return 1 if missed and options.strict else 0


def _measure(options: argparse.Namespace) -> tuple[list[Figures], list[tuple[float, float]]]:
    chosen = trees.named(options.tree or ())
    wanted = [peer for peer in PEERS if options.peer is None or peer.name in options.peer]
    peers = {peer.name: tools_under_test.install(peer) for peer in wanted}
    # Not below the repository: what git ignores, some of the tools leave out.
    with tempfile.TemporaryDirectory(prefix="coldfork-bench-") as scratch:
        bench = Bench(Fetcher(places.sources()), Path(scratch), peers, options.rounds)
        results: list[Figures] = []
        for tree in chosen:
            results.append(tree_figures(bench, tree))
            show(results[-1])
        rows = [] if options.no_scaling else scaling(bench, SCALING)
    if rows:
        _show_scaling(rows)
    return results, rows


def _show_scaling(rows: list[tuple[float, float]]) -> None:
    print(f"\ngrowing parts of {SCALING.name}, cold")
    for size, seconds in rows:
        print(f"  {size:6.1f} MB {seconds:6.2f} s {seconds / size * 1000:6.0f} ms per MB of the package")
    even = targets.grows_evenly(rows)
    print(f"  {'met   ' if even else 'MISSED'} the time grows no faster than the source")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev bench check", description=__doc__)
    parser.add_argument(
        "--tree", action="append", metavar="NAME", help="one tree (again for more); default all"
    )
    parser.add_argument(
        "--peer", action="append", choices=[peer.name for peer in PEERS], help="only these peers"
    )
    parser.add_argument("--no-peers", dest="peer", action="store_const", const=(), help="coldfork alone")
    parser.add_argument("--rounds", type=int, default=7, metavar="N", help="rounds of each tree (default 7)")
    parser.add_argument("--no-scaling", action="store_true", help="leave the table of growing sizes out")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a promise is missed")
    parser.add_argument("--output", metavar="FILE", help="write every sample as JSON")
    options = parser.parse_args(arguments)
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    return options


def _write(path: Path, results: Sequence[Figures], rows: Sequence[tuple[float, float]]) -> None:
    data = {
        "trees": [{**asdict(figures), "headline": headline(figures)} for figures in results],
        "promises": [
            {**asdict(kept.target), "value": kept.value, "met": kept.met}
            for figures in results
            for kept in targets.compare(figures.tree, headline(figures))
        ],
        "scaling": [{"megabytes": size, "seconds": seconds} for size, seconds in rows],
    }
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
