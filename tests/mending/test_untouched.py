"""Files of the standard library with waking lines planted in them: their own lines stay as they are."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from coldfork.model.causes import Applicability
from tests.amounts import LONG
from tests.mending.conftest import Mend

pytestmark = pytest.mark.once
FILES, BATCH = (500, 20) if LONG else (8, 8)
SMALLEST, LARGEST = 1_000, 60_000
PLANTED = (
    "import torch  # planted\n",
    (
        "PLANTED = torch.cuda.get_device_capability()  # planted: what it is\n"
        "def planted_reader(): return PLANTED  # planted\n"
    ),
    (
        "def planted_default(  # planted\n    x: bool = torch.cuda.is_available(),  # planted: whether\n):\n"
        "    # planted: above the body\n    return x\n"
    ),
    "class Planted:\n    # planted: above\n    attribute = torch.cuda.is_available()  # planted: beside\n",
)


def sources() -> list[Path]:
    """Files of the standard library, spread over all of it."""
    folder = Path(os.__file__).parent
    every = sorted(
        path
        for path in folder.rglob("*.py")
        if not {"site-packages", "test", "tests", "lib2to3", "idlelib"} & set(path.parts)
        and SMALLEST < path.stat().st_size < LARGEST
    )
    apart = max(len(every) // FILES, 1)
    return every[::apart][:FILES]


def planted(text: str) -> str | None:
    """The file with the pieces between its own statements; None where there is no place for them."""
    try:
        body = ast.parse(text).body
    except SyntaxError:
        return None
    lines = text.splitlines(keepends=True)
    ends = [node.end_lineno or node.lineno for node in body]
    if len(body) < len(PLANTED) + 2 or not text.endswith("\n") or len(set(ends)) < len(ends):
        return None
    newline = "\r\n" if "\r\n" in text else "\n"
    # Behind what has to stand first, and then spread over the rest.
    first = next((n for n, node in enumerate(body) if not _stands_first(node)), 0)
    at = [first, *(first + 1 + n * (len(body) - first - 1) // len(PLANTED) for n in range(1, len(PLANTED)))]
    for piece, number in sorted(zip(PLANTED, at, strict=True), key=lambda each: each[1], reverse=True):
        lines.insert(ends[number - 1] if number else 0, piece.replace("\n", newline))
    return "".join(lines)


def _stands_first(node: ast.stmt) -> bool:
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_text or (isinstance(node, ast.ImportFrom) and node.module == "__future__")


def batches() -> Iterator[dict[str, tuple[str, str]]]:
    """Own and planted texts by the names of the modules."""
    batch: dict[str, tuple[str, str]] = {}
    for number, path in enumerate(sources()):
        try:
            text = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            continue
        with_them = planted(text)
        if with_them is not None:
            batch[f"pkg/m{number}.py"] = text, with_them
        if len(batch) == BATCH:
            yield batch
            batch = {}
    if batch:
        yield batch


def test_all_lines_of_a_file_but_those_that_are_mended_stay_as_they_are(mended: Mend) -> None:
    files = fixes = 0
    for batch in batches():
        done = mended({name: text for name, (_, text) in batch.items()}, Applicability.UNSAFE)
        fixes += len(done.mended)
        after = {f"pkg/{Path(file.file).name}": file.after.decode() for file in done.files}
        for name, (own, _) in batch.items():
            Path(name).unlink()
            if name in after:
                files += 1
                left = iter(after[name].splitlines(keepends=True))
                lost = [line for line in own.splitlines(keepends=True) if line not in left]
                assert lost == [], name
                pieces = [line for piece in PLANTED for line in piece.splitlines()]
                assert all(line.partition("# planted")[2] in after[name] for line in pieces), name
    assert files > FILES // 2
    assert fixes > files
    print(f"{files} files, {fixes} fixes")
