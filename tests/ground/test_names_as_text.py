"""Modules and names of coldfork that stand in texts, where neither mypy nor import-linter looks: they exist.

A program that a test writes, an entry point, a module that is imported by its name, a page that shows a name:
when what they name moves, nothing fails until somebody runs exactly that. Nothing is imported here: a module
is a file, and its names are read from its source.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
PROGRAMS = ("src", "tests", "integrations", "benchmarks", "tools", "hardware", "examples")
#: Programs that speak of another coldfork: what the analyser is given to read, and a project made for a test.
NOT_OURS = (
    ROOT / "tests" / "source" / "packages",
    ROOT / "tests" / "ground" / "test_mutants.py",
    ROOT / "tests" / "ground" / "test_near.py",
    Path(__file__).resolve(),
)

#: `coldfork.x.y` or `coldfork.x.y:z`; a dot or a slash before, or a hyphen behind, makes it something else.
NAME = re.compile(r"(?<![\w./-])(?>coldfork(?:\.[A-Za-z_]\w*)+(?::[A-Za-z_]\w*)?)(?![-\w])")
IMPORT = re.compile(r"\bfrom (coldfork(?:\.\w+)*) import (?:\(([^)]*)\)|([^\n;()]+))")
PATH = re.compile(r"\bsrc/coldfork(?:/[\w*.-]*[\w*])+")
#: The same in a copy that is installed into an environment, as tracebacks show it.
INSTALLED = re.compile(r"\bcoldfork/(coldfork(?:/\w+)+\.py)")
#: Said on a page that cannot be recorded again here, and that therefore may name what has moved since.
OLD_TRANSCRIPT = "The paths of coldfork in this transcript are those of the version it was recorded with."

#: What looks like a name of ours and is none.
NO_NAMES = {
    "coldfork.bench": "an audit event",
    "coldfork.json": "a file that a run writes",
    "coldfork.sarif": "a file that a run writes",
    "coldfork.vsix": "a file that a build writes",
    "coldfork.files": "a class in a JUnit report",
    "coldfork.probe": "a class in a JUnit report",
    "coldfork.command": "a setting of an editor",
    "coldfork.configuration": "a setting of an editor",
    "coldfork.showReferences": "a command of an editor",
}
#: What is measured, as OpenTelemetry names it; the page that lists them is held to the code by its own test.
MEASURE = re.compile(r"coldfork\.(?:pool|script)\.")


class Mention(NamedTuple):
    """A name, and where it stands."""

    place: str
    name: str


@functools.cache
def texts() -> tuple[tuple[str, str], ...]:
    """Every text in which a name may stand, with its place."""
    return (*programs(), *pages())


def programs() -> Iterator[tuple[str, str]]:
    """The string constants of all programs."""
    for folder in PROGRAMS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not any(path.is_relative_to(one) for one in NOT_OURS):
                yield from constants(path)


def pages() -> Iterator[tuple[str, str]]:
    """Yield the texts that people read, and the project's file."""
    files = [ROOT / "pyproject.toml", ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    for path in [*files, *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").rglob("*.md"))]:
        yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def constants(path: Path) -> Iterator[tuple[str, str]]:
    """The string constants of a module that speak of coldfork."""
    text = path.read_text(encoding="utf-8")
    if "coldfork" not in text:
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "coldfork" in node.value:
            yield f"{path.relative_to(ROOT).as_posix()}:{node.lineno}", node.value


def names(text: str) -> Iterator[str]:
    """The names of ours that a text holds, those of its import statements too."""
    for name in NAME.findall(text):
        if name not in NO_NAMES and not MEASURE.match(name):
            yield name
    for module, inside, after in IMPORT.findall(text):
        imported = (one.split() for one in (inside or after).split(","))
        yield from (f"{module}.{words[0]}" for words in imported if words and words[0].isidentifier())


def file_of(module: str) -> Path | None:
    """The file of a module, or the folder of a package without `__init__`."""
    path = SOURCE / module.replace(".", "/")
    candidates = (path / "__init__.py", path.with_suffix(".py"), path)
    return next((one for one in candidates if one.exists()), None)


@functools.cache
def defined(path: Path) -> dict[str, ast.stmt]:
    """The names that a module gives, those of its `__all__` too, each with the statement that binds it."""
    if path.is_dir():
        return {}
    return dict(bindings(ast.parse(path.read_text(encoding="utf-8")).body))


def bindings(body: list[ast.stmt]) -> Iterator[tuple[str, ast.stmt]]:
    """The names that statements bind, inside `if`, `try` and `with` too."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name, node) for alias in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                yield from ((one.id, node) for one in ast.walk(target) if isinstance(one, ast.Name))
            if node.value and any(isinstance(one, ast.Name) and one.id == "__all__" for one in targets):
                yield from ((name, node) for name in ast.literal_eval(node.value))
        else:
            for field in ("body", "orelse", "finalbody"):
                yield from bindings(getattr(node, field, []))


def missing(name: str) -> str | None:
    """Why a name leads nowhere; None when it leads somewhere."""
    dotted, _, attribute = name.partition(":")
    module, *rest = dotted.split(".")
    while rest and file_of(f"{module}.{rest[0]}"):
        module = f"{module}.{rest.pop(0)}"
    rest += [attribute] if attribute else []
    if not rest or rest[0].startswith("__"):
        return None
    path = file_of(module)
    known = defined(path) if path is not None else {}
    if rest[0] not in known:
        return f"{module} has no {rest[0]}"
    statement = known[rest[0]]
    if len(rest) > 1 and isinstance(statement, ast.ClassDef) and not statement.bases:
        own = set(re.findall(r"\w+", ast.unparse(statement)))
        return None if rest[1] in own else f"{module}.{rest[0]} has no {rest[1]}"
    return None


def test_every_name_of_ours_in_a_text_leads_somewhere() -> None:
    mentions = {Mention(place, name) for place, text in texts() for name in names(text)}
    assert len(mentions) > 300, "the names are no longer found"
    lost = [f"{place}: {name} ({why})" for place, name in sorted(mentions) if (why := missing(name))]
    assert not lost, "\n".join(["these name what is not there:", *lost])


def paths(text: str) -> Iterator[str]:
    """The paths of ours that a text holds, from the checkout."""
    yield from PATH.findall(text)
    yield from (f"src/{path}" for path in INSTALLED.findall(text))


def lost_paths(place: str, text: str) -> list[str]:
    """The paths of ours in a text that lead nowhere, with its place."""
    return [f"{place}: {path}" for path in sorted(set(paths(text))) if not any(ROOT.glob(path))]


def test_every_path_of_ours_in_a_text_exists() -> None:
    mentions = {Mention(place, path) for place, text in texts() for path in paths(text)}
    assert len(mentions) > 5, "the paths are no longer found"
    lost = [one for place, text in texts() if OLD_TRANSCRIPT not in text for one in lost_paths(place, text)]
    assert not lost, "\n".join(["these paths lead nowhere:", *lost])


def test_a_transcript_is_called_old_only_while_it_is() -> None:
    old = [(place, text) for place, text in pages() if OLD_TRANSCRIPT in text]
    assert [place for place, text in old if not lost_paths(place, text)] == []


def test_what_is_excepted_still_stands_somewhere() -> None:
    everything = "\n".join(text for _, text in texts())
    assert [name for name in NO_NAMES if name not in NAME.findall(everything)] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import coldfork.cli.main", ["coldfork.cli.main"]),
        ("coldfork.cli.main:main runs", ["coldfork.cli.main:main"]),
        ("from coldfork.model.errors import A as B, C", ["coldfork.model.errors", "coldfork.model.errors.A"]),
        ("[tool.coldfork.per-file-ignores], coldfork.per-file", []),
        ("~/.config/coldfork.fish", []),
        ("It is coldfork. And more.", []),
    ],
)
def test_names_are_found_in_texts(text: str, found: list[str]) -> None:
    assert list(names(text))[: len(found) or None] == found


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("coldfork.cli.main:main", None),
        ("coldfork.canary", None),
        ("coldfork.model.errors.ColdforkError", None),
        ("coldfork.model", None),
        ("coldfork.nowhere", "coldfork has no nowhere"),
        ("coldfork.cli.nowhere:main", "coldfork.cli has no nowhere"),
        ("coldfork.cli.main:nothing", "coldfork.cli.main has no nothing"),
    ],
)
def test_a_name_that_leads_nowhere_is_told_from_one_that_does(name: str, why: str | None) -> None:
    assert missing(name) == why
