"""The tools that are timed side by side: coldfork, and what others offer for whole trees of Python."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import tool
from benchmarks.trees import Copy
from published import places
from published.errors import UnavailableError

RULE = Path(__file__).with_name("semgrep-rule.yaml")
GRIMP = "import sys, grimp; sys.path[:0] = sys.argv[2:]; grimp.build_graph(sys.argv[1], cache_dir=None)"
MINOR_VERSIONS = ("3.13", "3.12", "3.14", "3.11")


@dataclass(frozen=True, slots=True)
class Job:
    """The command of one measurement."""

    command: tuple[str, ...]
    environment: Mapping[str, str] | None = None
    statuses: frozenset[int] = frozenset({0})


@dataclass(frozen=True, slots=True)
class Peer:
    """Another tool: how it is installed, and how it is run over a fresh copy."""

    name: str
    requirement: str
    does: str
    oldest_python: tuple[int, int]
    command: Callable[[Path, Copy, Path], tuple[str, ...]]
    """Takes its `bin` folder, the tree and a folder for what it writes."""
    reads_dependencies: bool = False
    statuses: frozenset[int] = frozenset({0})
    """How it exits when it has done its work: type checkers find fault with every tree."""

    def folder(self) -> Path:
        """Where its virtual environment lies."""
        return places.workshop() / "venvs" / self.name


def _lifeguard(bin_: Path, tree: Copy, scratch: Path) -> tuple[str, ...]:
    beside = ("--site-packages", str(tree.beside)) if tree.beside is not None else ()
    return (str(bin_ / "lifeguard"), "run-tree", *beside, str(tree.folder), str(scratch / "lifeguard.json"))


def _grimp(bin_: Path, tree: Copy, scratch: Path) -> tuple[str, ...]:
    return (str(bin_ / "python"), "-c", GRIMP, tree.top, str(tree.folder))


def _ruff(bin_: Path, tree: Copy, scratch: Path) -> tuple[str, ...]:
    return (str(bin_ / "ruff"), "--isolated", "analyze", "graph", str(tree.folder))


def _semgrep(bin_: Path, tree: Copy, scratch: Path) -> tuple[str, ...]:
    quiet = ("--metrics=off", "--disable-version-check", "--quiet", "--no-git-ignore")
    out = ("--json", "--output", str(scratch / "semgrep.json"))
    return (str(bin_ / "semgrep"), "scan", *quiet, *out, "--config", str(RULE), str(tree.folder))


def _ty(bin_: Path, tree: Copy, scratch: Path) -> tuple[str, ...]:
    python = ("--python", str(bin_.parent))
    return (str(bin_ / "ty"), "check", *python, "--exit-zero", "--output-format", "concise", str(tree.folder))


def _pyrefly(bin_: Path, tree: Copy, scratch: Path) -> tuple[str, ...]:
    return (str(bin_ / "pyrefly"), "check", "--summary=none", str(tree.folder))


PEERS = (
    Peer(
        "lifeguard", "lifeguard-lazy-imports==0.6.0", "lazy-import safety, whole program",
        (3, 12), _lifeguard, reads_dependencies=True,
    ),
    Peer("grimp", "grimp==3.19", "import graph", (3, 11), _grimp),
    Peer("ruff", "ruff==0.17.5", "import graph of files", (3, 11), _ruff),
    Peer("ty", "ty==0.0.105", "types", (3, 11), _ty),
    Peer("pyrefly", "pyrefly==1.4.1", "types", (3, 11), _pyrefly, statuses=frozenset({0, 1})),
    Peer("semgrep", "semgrep==1.182.0", "direct calls outside functions", (3, 11), _semgrep),
)  # fmt: skip


def coldfork(tree: Copy, cache: Path, output: Path) -> Job:
    """A check of a copy with a cache folder of its own."""
    options = ["--format", "json", "--exit-zero", "--output", str(output)]
    beside = tree.beside
    if beside is None:  # alone means alone: not beside whatever this Python happens to have installed
        beside = cache.parent / "nothing-beside"
        beside.mkdir(parents=True, exist_ok=True)
    options += ["--site-packages", str(beside)]
    return Job(tuple(tool.command(tree.package, *options)), tool.environment(cache))


def install(peer: Peer) -> Path:
    """Make sure that a peer is installed in its own environment; the folder of its commands."""
    folder = peer.folder()
    done = folder / "installed"
    if done.exists() and done.read_text(encoding="utf-8") == peer.requirement:
        return folder / "bin"
    print(f"installing {peer.requirement} ...", file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)
    _run([interpreter(peer.oldest_python), "-m", "venv", str(folder)])
    _run([str(folder / "bin" / "python"), "-m", "pip", "install", "-q", peer.requirement])
    done.write_text(peer.requirement, encoding="utf-8")
    return folder / "bin"


def interpreter(oldest: tuple[int, int]) -> str:
    """A Python that is new enough: this one, else one on the search path."""
    if sys.version_info[:2] >= oldest:
        return sys.executable
    for version in MINOR_VERSIONS:
        path = shutil.which(f"python{version}")
        if path and tuple(map(int, version.split("."))) >= oldest and _works(path):
            return path
    raise UnavailableError(f"no Python {oldest[0]}.{oldest[1]} or newer on the search path")


def _works(path: str) -> bool:
    return subprocess.run([path, "-c", "import venv"], capture_output=True, check=False).returncode == 0


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UnavailableError(f"{' '.join(command)} exits {done.returncode}: {done.stderr.strip()[-400:]}")
