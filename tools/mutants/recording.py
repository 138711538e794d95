"""Which test runs which lines: recorded once for each file of tests, and kept until something changes."""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mutants.copies import Copy, files_of
from mutants.lines import Lines
from mutants.workers import Worker

_FORMAT = "1"


@dataclass(frozen=True, slots=True)
class Test:
    """A test that passes, how long it takes, and the lines of each file that it runs."""

    id: str
    seconds: float
    lines: dict[str, frozenset[int]]

    @property
    def file(self) -> str:
        """Where it stands."""
        return self.id.partition("::")[0]


def test_files(root: Path, rooms: Sequence[str]) -> list[str]:
    """The files of tests that lie in a room's folder, or import something of a room's, through others too."""
    names = {name for name in files_of(root) if name.startswith("tests/") and name.endswith(".py")}
    names = {name for name in names if not name.startswith("tests/source/packages/")}
    imports = {name: {*_imports(root / name), *_fixtures(name)} for name in names}
    wanted = tuple(f"coldfork.{room.strip('/').replace('/', '.')}" for room in rooms)
    folders = tuple(f"tests/{room.partition('/')[0]}/" for room in rooms)
    touching = {name for name in names if name.startswith(folders)}
    while True:
        modules = {name.removesuffix(".py").replace("/", ".") for name in touching}
        more = {
            name
            for name, found in imports.items()
            if found & modules
            or any(one == start or one.startswith(f"{start}.") for one in found for start in wanted)
        }
        if more <= touching:
            break
        touching |= more
    return sorted(name for name in touching if Path(name).name.startswith("test_"))


def _fixtures(name: str) -> Iterator[str]:
    """The modules whose fixtures a file of tests may use without importing them."""
    yield from (".".join((*folder.parts, "conftest")) for folder in Path(name).parents if folder.parts)


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def recorded(
    root: Path, files: Iterable[str], kept: Path, run: Callable[[dict[str, Path]], None]
) -> list[Test]:
    """The tests of some files with the lines that they run: as kept, or by running those that are not."""
    kept.mkdir(parents=True, exist_ok=True)
    places = {name: kept / f"{digest}.json" for name, digest in digests(root, files).items()}
    missing = {name: place for name, place in places.items() if not place.exists()}
    if missing:
        run(missing)
    return [test for place in places.values() if place.exists() for test in _read(place)]


def digests(root: Path, files: Iterable[str]) -> dict[str, str]:
    """For every file of tests a name that changes with it, with the code, and with what tests share."""
    common = hashlib.sha256(f"{_FORMAT} {sys.version}".encode())
    for name in sorted(files_of(root)):
        shared = name.startswith("tests/") and not Path(name).name.startswith("test_")
        if name.startswith("src/") or name == "pyproject.toml" or shared:
            common.update(name.encode() + b"\0" + (root / name).read_bytes())
    return {
        name: hashlib.sha256(common.digest() + name.encode() + (root / name).read_bytes()).hexdigest()[:24]
        for name in files
    }


def instrument(copies: Sequence[Copy]) -> Lines:
    """Let all code of coldfork in copies say which of its lines run."""
    root = copies[0].root
    sources = {
        path.relative_to(root).as_posix(): path.read_bytes() for path in sorted((root / "src").rglob("*.py"))
    }
    lines = Lines(sources.items())
    for path, source in sources.items():
        code = lines.code(path, source, root / path)
        for copy in copies:
            copy.freeze(path, code)
    return lines


def restore(copies: Sequence[Copy]) -> None:
    """Let all code of coldfork in copies be what its files say."""
    for path in sorted((copies[0].root / "src").rglob("*.py")):
        name = path.relative_to(copies[0].root).as_posix()
        code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        for copy in copies:
            copy.freeze(name, code)


def record(worker: Worker, name: str, lines: Lines, target: Path) -> None:
    """Run a file of tests in a copy that says which of its lines run, and keep what it says."""
    hits = worker.copy.root.parent / "hits"
    hits.write_bytes(bytes(len(lines)))
    tests = []
    for ended in worker.run([name], hits=hits):
        by_file: dict[str, list[int]] = {}
        for path, line in lines.named(ended.hits):
            by_file.setdefault(path, []).append(line)
        tests.append({"id": ended.test, "seconds": ended.seconds, "outcome": ended.outcome, "lines": by_file})
    partial = target.with_suffix(".partial")
    partial.write_text(json.dumps(tests), encoding="utf-8")
    partial.replace(target)


def _read(path: Path) -> Iterator[Test]:
    for test in json.loads(path.read_text(encoding="utf-8")):
        if test["outcome"] == "passed":
            lines = {name: frozenset(numbers) for name, numbers in test["lines"].items()}
            yield Test(test["id"], test["seconds"], lines)
