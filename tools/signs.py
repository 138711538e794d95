"""Reads messages that belong to stories out of published wheels: `python tools/signs.py WHEEL... [--write]`

A wheel is read and not installed. Every string that is raised, warned of or logged is held against the signs
of all stories; what matches is listed with version, file and line, so that a new release shows what has
changed. What speaks of forks and devices and belongs to no story is printed, for a person to look at.
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

from coldfork.diagnose.stories.recognition import squeezed
from coldfork.knowledge.troubles import TROUBLES

SIGNS = Path(__file__).resolve().parent.parent / "tests" / "diagnose" / "signs.json"
_NAME = re.compile(r"^(?P<name>.+?)-(?P<version>[^-]+)-")
_TOPIC = re.compile(
    r"\bfork(?:ed|ing)?\b.*(?:cuda|gpu|device|thread|process)|already (?:been )?initiali[sz]ed", re.IGNORECASE
)
_SAYS = ("warn", "warning", "error", "critical", "exception")
_LONGEST = 400


@dataclass(frozen=True, slots=True)
class Sign:
    """A message of a published package."""

    story: str | None
    """None for one that speaks of the same things and belongs to no story."""
    distribution: str
    version: str
    file: str
    line: int
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
            if not file.endswith(".py") or "/test" in file:
                continue
            for line, kind, text in messages(archive.read(file)):
                story = _story(kind, text)
                if story is not None or _TOPIC.search(text) is not None:
                    yield Sign(story, named["name"], named["version"], file, line, kind, text[:_LONGEST])


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
    """Print what the wheels say; with `--write` keep what belongs to a story."""
    wheels = [Path(word) for word in arguments if not word.startswith("--")]
    found = [sign for wheel in wheels for sign in signs(wheel)]
    for sign in found:
        place = f"{sign.distribution} {sign.version} {sign.file}:{sign.line}"
        print(f"{sign.story or '?'}: {place} {sign.text[:90]}")
    if "--write" in arguments:
        _keep(found)


def _keep(found: Iterable[Sign]) -> None:
    kept = [asdict(sign) for sign in found if sign.story is not None]
    SIGNS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
