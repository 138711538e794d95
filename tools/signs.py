"""Reads messages that belong to stories out of published wheels: `python tools/signs.py WHEEL... [--write]`

A wheel is read and not installed. Every string that is raised, warned of or logged, and every one in a
compiled library, is held against the signs of all stories; what matches is listed with version, file and
line, so that a new release shows what has changed. What speaks of forks and devices and belongs to no story
is printed, for a person to look at. What lies in the folder of each package is kept as well: by it a checkout
of the package is known in a log, whatever the folders above it are called.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from coldfork.diagnose.roles import LAYOUTS
from coldfork.diagnose.stories.recognition import squeezed
from coldfork.knowledge.troubles import TROUBLES

SIGNS = Path(__file__).resolve().parent.parent / "tests" / "diagnose" / "signs.json"
_NAME = re.compile(r"^(?P<name>.+?)-(?P<version>[^-]+)-")
_TOPIC = re.compile(
    r"\bfork(?:ed|ing)?\b.*(?:cuda|gpu|device|thread|process)|already (?:been )?initiali[sz]ed", re.IGNORECASE
)
_SAYS = ("warn", "warning", "error", "critical", "exception")
_LONGEST = 400
_COMPILED = re.compile(r"\.so(?:\.[\d.]+)?$")
_STRING = re.compile(rb"[\t\n -~]{20,300}")
_LONGEST_STRING = 300
"""What may be a message: longer ones are documentation, and those of fewer words are names."""
_FEWEST_WORDS = 4
_FAILS = "RuntimeError"
"""What Python gets when a compiled part fails, in most packages."""
_IN_CONTEXT = ("lazy-state-in-capture", "out-of-memory")
"""Stories that words alone do not tell."""
_ENTRY = re.compile(r"(?P<package>[A-Za-z_]\w*)/(?P<entry>[A-Za-z_]\w*)(?:/.*)?\.pyx?$")
_NO_PART = frozenset({"test", "tests", "examples", "benchmarks", "docs"})
"""Folders that are not of one package only."""
_FEWEST_ENTRIES = 3
_ANYBODYS = frozenset({"datasets", "op_builder"})
"""What programs call folders of their own as well: of these only what is installed is the package's."""


@dataclass(frozen=True, slots=True)
class Sign:
    """A message of a published package."""

    story: str | None
    """None for one that speaks of the same things and belongs to no story."""
    distribution: str
    version: str
    file: str
    line: int | None
    """None for a string of a compiled library."""
    kind: str
    """The exception; empty for what is warned of or logged."""
    text: str
    """The message; what is filled in when it is raised stands there as a 0."""


def signs(wheel: Path) -> Iterator[Sign]:
    """The signs in one wheel."""
    named = _NAME.match(wheel.name)
    if named is None:
        raise SystemExit(f"{wheel}: the name of a wheel begins with its distribution and its version")
    with zipfile.ZipFile(wheel) as archive:
        for file in sorted(archive.namelist()):
            for line, kind, text in _in_file(archive, file):
                story = _story(kind, text)
                if story is not None or (line is not None and _TOPIC.search(text) is not None):
                    yield Sign(story, named["name"], named["version"], file, line, kind, text[:_LONGEST])


def _in_file(archive: zipfile.ZipFile, file: str) -> Iterator[tuple[int | None, str, str]]:
    if file.endswith(".py") and "/test" not in file:
        yield from messages(archive.read(file))
    elif _COMPILED.search(file) is not None:
        yield from strings(archive.read(file))


def strings(library: bytes) -> Iterator[tuple[None, str, str]]:
    """The strings of a compiled library that some story's sign stands in, each once."""
    needles = {needle.encode() for trouble in TROUBLES for needle in trouble.needles}
    said = {text for needle in needles for text in _around(library, needle)}
    for text in sorted(" ".join(text.decode("ascii").split()) for text in said):
        if text.count(" ") >= _FEWEST_WORDS - 1:
            yield None, _FAILS, text


def _around(library: bytes, needle: bytes) -> Iterator[bytes]:
    """The strings in which these bytes stand."""
    place = library.find(needle)
    while place >= 0:
        begin = library.rfind(b"\x00", max(0, place - _LONGEST_STRING), place) + 1
        end = library.find(b"\x00", place, place + _LONGEST_STRING)
        if begin > 0 and end > 0 and _STRING.fullmatch(library, begin, end) is not None:
            yield library[begin:end]
        place = library.find(needle, max(end, place + 1))


def layout(wheel: Path) -> dict[str, tuple[str, ...]]:
    """The packages of one wheel, each with the names of the modules and folders in it."""
    found: dict[str, set[str]] = {}
    with zipfile.ZipFile(wheel) as archive:
        for file in archive.namelist():
            match = _ENTRY.match(file)
            if match is not None and match["entry"] not in _NO_PART:
                found.setdefault(match["package"], set()).add(match["entry"])
    return {
        package: tuple(sorted(names))
        for package, names in found.items()
        if len(names) >= _FEWEST_ENTRIES and package not in _ANYBODYS
    }


def messages(source: bytes) -> Iterator[tuple[int, str, str]]:
    """The line, the exception and the text of everything that is raised, warned of or logged."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    kept = dict(_assigned(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            yield from _said(node.exc, _last(node.exc.func), kept)
        elif isinstance(node, ast.Call) and _last(node.func) in _SAYS:
            yield from _said(node, "", kept)


def _assigned(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The texts that are given a name first and said later."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and (text := _text(node.value))
        ):
            yield node.targets[0].id, text


def _said(call: ast.Call, kind: str, kept: Mapping[str, str]) -> Iterator[tuple[int, str, str]]:
    first = call.args[0] if call.args else None
    text = (
        kept.get(first.id, "") if isinstance(first, ast.Name) else _text(first) if first is not None else ""
    )
    text = " ".join(text.split())
    if text:
        yield call.lineno, kind, text


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) if isinstance(part, ast.Constant) else "0" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left) + _text(node.right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return _text(node.func.value)
    return ""


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _story(kind: str, text: str) -> str | None:
    said = "".join(f"{kind}: {text}".split())
    for trouble in TROUBLES:
        if trouble.pattern is not None and squeezed(trouble.pattern).search(said) is not None:
            return trouble.name
    return None


def main(arguments: list[str]) -> None:
    """Print what the wheels say; with `--write` keep what belongs to a story, and what is in the packages."""
    wheels = [Path(word) for word in arguments if not word.startswith("--")]
    found = [sign for wheel in wheels for sign in signs(wheel)]
    for sign in found:
        place = f"{sign.distribution} {sign.version} {sign.file}:{sign.line or 'compiled'}"
        print(f"{sign.story or '?'}: {place} {sign.text[:90]}")
    if "--write" in arguments:
        _keep(found)
        _keep_layouts(layout(wheel) for wheel in wheels)


def _keep(found: Iterable[Sign]) -> None:
    """Put what was found in place of what was known of the same releases."""
    once = {
        (sign.distribution, sign.version, sign.line or sign.text, sign.file if sign.line else ""): sign
        for sign in found
        if sign.story not in _IN_CONTEXT
    }
    new = [asdict(sign) for sign in once.values() if sign.story is not None]
    read = {(sign["distribution"], sign["version"]) for sign in new}
    known = json.loads(SIGNS.read_text(encoding="utf-8"))
    kept = [sign for sign in known if (sign["distribution"], sign["version"]) not in read]
    ordered = sorted((*kept, *new), key=lambda sign: (sign["distribution"], sign["version"], sign["file"]))
    SIGNS.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


def _keep_layouts(found: Iterable[Mapping[str, tuple[str, ...]]]) -> None:
    """Add what other releases have to what is known of a package."""
    known: dict[str, list[str]] = json.loads(LAYOUTS.read_text(encoding="utf-8"))
    for packages in found:
        for package, names in packages.items():
            known[package] = sorted({*known.get(package, ()), *names})
    rows = (f" {json.dumps(package)}: {json.dumps(known[package])}" for package in sorted(known))
    LAYOUTS.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
