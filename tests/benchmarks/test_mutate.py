"""The transformations: what comes out still compiles, still does the same on import, and keeps its marks."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks import mutate, relocate
from benchmarks.mutate import Package
from published.errors import UnavailableError

pytestmark = pytest.mark.once

PACKAGES = Path(__file__).parent.parent / "source" / "packages"
CASES = sorted(folder.name for folder in PACKAGES.iterdir() if folder.is_dir())

SAME_CALLS: dict[str, Callable[[Package], dict[str, str]]] = {
    "unchanged": dict,
    "renamed": mutate.rename,
    "shifted": mutate.shift,
    "deepened": mutate.deepen,
    "renamed, shifted and deepened": lambda package: mutate.deepen(
        mutate.shift(mutate.rename(package, 3), 3)
    ),
}


def read(case: str) -> dict[str, str]:
    package = mutate.load(PACKAGES / case)
    return {path: text for path, text in package.items() if not path.startswith("beside/")}


def calls_on_import(variants: list[Package], beside: Path, folder: Path) -> list[list[str]]:
    """Return CPython's calls into torch and the driver when it imports every module of each variant."""
    arguments: list[str] = []
    for number, variant in enumerate(variants):
        mutate.write(variant, folder / str(number))
        arguments.append(f"{folder / str(number)}:{beside}")
    stub = Path(__file__).with_name("stub_torch.py")
    done = subprocess.run(
        [sys.executable, str(stub), *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    answer: list[list[str]] = json.loads(done.stdout)
    return answer


def rules(package: Package) -> list[str]:
    return sorted(expected.rule for expected in mutate.expectations(package))


def test_there_are_packages_and_each_expects_something() -> None:
    assert len(CASES) >= 8
    for case in CASES:
        assert mutate.expectations(read(case)), case


@pytest.mark.parametrize("case", CASES)
def test_the_same_calls_are_made_on_import(case: str, tmp_path: Path) -> None:
    package = read(case)
    positions = [where for where in relocate.POSITIONS if relocate.can_move(package, where)]
    variants = [change(package) for change in SAME_CALLS.values()]
    variants += [relocate.move_site(package, where) for where in positions]
    names = [*SAME_CALLS, *positions]
    lazy = relocate.move_site(package, "lazy")
    *made, made_lazily = calls_on_import([*variants, lazy], PACKAGES / case / "beside", tmp_path)
    assert made[0], "the package wakes nothing at all"
    for name, calls in zip(names, made, strict=True):
        assert calls == made[0], name
    assert made_lazily == []


@pytest.mark.parametrize("case", CASES)
def test_marks_move_along(case: str) -> None:
    package = read(case)
    for name, change in SAME_CALLS.items():
        assert rules(change(package)) == rules(package), name
    for where in relocate.POSITIONS:
        if relocate.can_move(package, where):
            moved = relocate.move_site(package, where)
            assert rules(moved) == rules(package), where
    assert mutate.expectations(relocate.move_site(package, "lazy")) == ()


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", [0, 1])
def test_renaming_back_gives_the_original(case: str, seed: int) -> None:
    package = read(case)
    mapping = mutate.new_names(package, seed)
    assert len(set(mapping.values())) == len(mapping)
    renamed = mutate.rename(package, seed)
    assert set(renamed).isdisjoint(set(package))
    back = {new: old for old, new in mapping.items()}
    original = {
        mutate._renamed_path(path, back): mutate._renamed_text(text, back) for path, text in renamed.items()
    }
    assert original == package


@pytest.mark.parametrize("case", CASES)
def test_renaming_leaves_no_own_name(case: str) -> None:
    package = read(case)
    old = set(mutate.new_names(package))
    for text in mutate.rename(package).values():
        left = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
        assert left.isdisjoint(old)


@pytest.mark.parametrize("case", CASES)
def test_shifting_changes_lines_only(case: str) -> None:
    package = read(case)
    shifted = mutate.shift(package, 7)
    assert shifted != package
    for path, text in package.items():
        assert ast.dump(ast.parse(shifted[path])) == ast.dump(ast.parse(text))


def test_deepening_keeps_arguments() -> None:
    text = (
        "import torch\n\n\ndef wake(a, /, b, *rest, c=1, **others):\n    return torch.cuda.synchronize(a)\n"
    )
    (deepened,) = mutate.deepen({"m.py": text}).values()
    inner, outer = (node for node in ast.parse(deepened).body if isinstance(node, ast.FunctionDef))
    assert inner.name == "wake_deeper"
    assert outer.name == "wake"
    assert ast.unparse(outer.args) == "a, /, b, *rest, c=1, **others"
    assert ast.unparse(outer.body[0]) == "return wake_deeper(a, b, *rest, c=c, **others)"


def test_deepening_leaves_a_marked_header_alone() -> None:
    text = "def read(device=probe()):  # expect: device-init-at-import\n    return device\n"
    assert mutate.deepen({"m.py": text}) == {"m.py": text}


@pytest.mark.parametrize(
    ("where", "kind"),
    [
        ("module", ast.Assign),
        ("class-body", ast.ClassDef),
        ("default-argument", ast.FunctionDef),
        ("decorator", ast.FunctionDef),
        ("lazy", ast.FunctionDef),
    ],
)
def test_a_site_arrives_where_it_was_sent(where: relocate.Where, kind: type[ast.stmt]) -> None:
    package = {"m.py": "import torch\n\nUNITS = torch.cuda.device_count()  # expect: some-rule\nLAST = 1\n"}
    moved = relocate.move_site(package, where)["m.py"]
    tree = ast.parse(moved)
    assert ast.unparse(tree.body[1]) == "UNITS = None"
    assert ast.unparse(tree.body[-1]) == "LAST = 1"
    assert isinstance(tree.body[-2], kind)
    assert moved.count("torch.cuda.device_count()") == 1
    if where != "lazy":
        (expected,) = mutate.expectations({"m.py": moved})
        assert "torch.cuda.device_count()" in moved.splitlines()[expected.line - 1]


def test_an_import_cannot_become_an_argument() -> None:
    package = {"m.py": "import waking  # expect: waking-import\n"}
    assert not relocate.can_move(package, "default-argument")
    assert relocate.can_move(package, "class-body")
    assert relocate.move_site(package, "class-body")["m.py"] == (
        "class Moved0:\n    import waking  # expect: waking-import\n"
    )


def test_a_mark_on_a_line_that_no_import_executes_is_refused() -> None:
    with pytest.raises(UnavailableError, match="line 2 holds nothing"):
        relocate.find_site("def f():\n    return wake()  # expect: some-rule\n", 2)
