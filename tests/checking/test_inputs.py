"""Of any input to a check, a clean answer is never silence about what was not looked at."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from coldfork.cli.main import cli

WAKES = "import torch\nX = torch.cuda.get_device_name()\n"
CONFIGURATION = '[tool.coldfork]\nsite-packages = ["packages"]\n'


def notebook(*cells: str | list[str], language: str = "python", **rest: object) -> str:
    """The JSON of a notebook of these code cells."""
    made: list[dict[str, object]] = [
        {"cell_type": "code", "source": cell, "metadata": {}, "outputs": []} for cell in cells
    ]
    metadata = {"language_info": {"name": language}} if language else {}
    return json.dumps({"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5, **rest})


def text(name: str, content: str) -> Callable[[Path], list[str]]:
    """An input that is one file."""
    return data(name, content.encode())


def data(name: str, content: bytes) -> Callable[[Path], list[str]]:
    def make(folder: Path) -> list[str]:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        return [name]

    return make


def tree(given: str, **files: str) -> Callable[[Path], list[str]]:
    """An input that is several files, and the path that is given."""

    def make(folder: Path) -> list[str]:
        for name, content in files.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, encoding="utf-8")
        return [given]

    return make


def empty_folder(folder: Path) -> list[str]:
    (folder / "empty").mkdir()
    return ["empty"]


def loop_of_links(folder: Path) -> list[str]:
    (folder / "loop").mkdir()
    (folder / "loop" / "again").symlink_to(folder / "loop")
    return ["loop"]


def broken_link(folder: Path) -> list[str]:
    (folder / "gone.py").symlink_to(folder / "nowhere.py")
    return ["gone.py"]


def broken_link_in_a_folder(folder: Path) -> list[str]:
    (folder / "tree").mkdir()
    (folder / "tree" / "gone.py").symlink_to(folder / "nowhere.py")
    return ["tree"]


def link_to_a_file(folder: Path) -> list[str]:
    (folder / "real.py").write_text(WAKES, encoding="utf-8")
    (folder / "link.py").symlink_to(folder / "real.py")
    return ["link.py"]


def pipe(folder: Path) -> list[str]:
    os.mkfifo(folder / "pipe.py")
    return ["pipe.py"]


def archive(name: str) -> Callable[[Path], list[str]]:
    def make(folder: Path) -> list[str]:
        with zipfile.ZipFile(folder / name, "w") as file:
            file.writestr("pkg/__init__.py", WAKES)
        return [name]

    return make


def excluded(folder: Path) -> list[str]:
    (folder / "pyproject.toml").write_text(f'{CONFIGURATION}exclude = ["a.py"]\n', encoding="utf-8")
    return text("a.py", WAKES)(folder)


def missing(folder: Path) -> list[str]:
    return ["nothing.py"]


def two_paths(folder: Path) -> list[str]:
    text("a.py", WAKES)(folder)
    return ["a.py", "./a.py"]


PY2 = "print 'x'\n"
#: Each holds a line that wakes a device, where there is a place for one.
INPUTS: dict[str, Callable[[Path], list[str]]] = {
    "a module": text("a.py", WAKES),
    "a package": tree("pkg", **{"pkg/__init__.py": "", "pkg/a.py": WAKES}),
    "a module of a package": tree("pkg/a.py", **{"pkg/__init__.py": "", "pkg/a.py": WAKES}),
    "an empty folder": empty_folder,
    "a folder without Python": text("docs/README.md", "text"),
    "a file that is not there": missing,
    "a file of bytes": data("a.py", bytes(range(256))),
    "a picture": data("a.png", b"\x89PNG\r\n"),
    "a README": text("README.md", WAKES),
    "a text file": text("a.txt", WAKES),
    "a loop of links": loop_of_links,
    "a broken link": broken_link,
    "a broken link in a folder": broken_link_in_a_folder,
    "a link to a file": link_to_a_file,
    "a pipe": pipe,
    "a device": lambda folder: ["/dev/null"],
    "a zip": archive("a.zip"),
    "a wheel": archive("a-1-py3-none-any.whl"),
    "an egg": archive("a.egg"),
    "a tar": data("a.tar", b"\0" * 512),
    "a compiled module": data("a.so", b"\x7fELF"),
    "compiled code": data("a.pyc", b"\0"),
    "a stub": text("a.pyi", WAKES),
    "Cython source": text("a.pyx", WAKES),
    "a window's script": text("a.pyw", WAKES),
    "a script without suffix": text("run", f"#!/usr/bin/env python3\n{WAKES}"),
    "a shell script": text("run", "#!/bin/sh\n"),
    "a notebook": text("a.ipynb", notebook(WAKES)),
    "a notebook of lines": text("a.ipynb", notebook(WAKES.splitlines(keepends=True))),
    "a notebook with magics": text("a.ipynb", notebook("%time\n!ls\n?print\nx = !ls", WAKES)),
    "a notebook with a cell magic": text("a.ipynb", notebook(f"%%time\n{WAKES}")),
    "a notebook of shell cells": text("a.ipynb", notebook("%%bash\nls", WAKES)),
    "a notebook that awaits": text("a.ipynb", notebook(f"await f()\n{WAKES}")),
    "a notebook of another language": text("a.ipynb", notebook("x <- 1", language="R")),
    "a notebook that does not say its language": text("a.ipynb", notebook(WAKES, language="")),
    "a notebook that is no JSON": text("a.ipynb", WAKES),
    "a notebook of an old format": text("a.ipynb", '{"worksheets": [], "nbformat": 3}'),
    "JSON that is no notebook": text("a.ipynb", "[]"),
    "a notebook with a syntax error": text("a.ipynb", notebook("def f(:")),
    "an empty notebook": text("a.ipynb", notebook()),
    "a folder of notebooks": tree("books", **{"books/a.ipynb": notebook(WAKES)}),
    "a notebook's checkpoints": tree("books", **{"books/.ipynb_checkpoints/a.ipynb": notebook(WAKES)}),
    "an encoding that is declared": data("a.py", f"# coding: latin-1\nn = '\xe9'\n{WAKES}".encode("latin-1")),
    "a wrong encoding": data("a.py", f"# coding: ascii\nname = '\xe9'\n{WAKES}".encode()),
    "an unknown encoding": text("a.py", f"# coding: klingon\n{WAKES}"),
    "bytes that are no UTF-8": data("a.py", b"name = '\xff'\n" + WAKES.encode()),
    "a mark of byte order": data("a.py", b"\xef\xbb\xbf" + WAKES.encode()),
    "a null byte": data("a.py", WAKES.encode() + b"\0"),
    "lines that end as on Windows": data("a.py", WAKES.replace("\n", "\r\n").encode()),
    "lines that end as on old Macs": data("a.py", WAKES.replace("\n", "\r").encode()),
    "a form feed": text("a.py", f"\f\n{WAKES}"),
    "Python 2": text("a.py", f"{PY2}{WAKES}"),
    "a syntax error": text("a.py", f"def f(:\n{WAKES}"),
    "a syntax error in a function": text("a.py", f"def f():\n    return )\nf()\n{WAKES}"),
    "tabs among blanks": text("a.py", "if True:\n        a = 1\n\tb = 2\n"),
    "a text without end": text("a.py", f"{WAKES}name = 'x\n"),
    "an expression nested deeply": text("a.py", f"{WAKES}x = {'(' * 3000}1{')' * 3000}\n"),
    "an empty file": text("a.py", ""),
    "only comments": text("a.py", "# nothing\n"),
    "a directory of scripts": tree("tools", **{"tools/a.py": WAKES, "tools/b-c.py": WAKES}),
    "scripts with the same neighbour": tree(
        "tools", **{"tools/x/utils.py": WAKES, "tools/y/utils.py": WAKES, "tools/y/a.py": "import utils\n"}
    ),
    "a hidden folder that is given": tree(".hidden", **{".hidden/a.py": WAKES}),
    "a hidden folder in a folder": tree(".", **{".hidden/a.py": WAKES}),
    "a folder that builds go to": tree("build", **{"build/a.py": WAKES}),
    "a folder that builds go to, in a folder": tree(".", **{"build/a.py": WAKES}),
    "an environment in a folder": tree(".", **{"venv/lib/a.py": WAKES}),
    "installed packages that are given": tree("site-packages", **{"site-packages/pkg/__init__.py": WAKES}),
    "a package that is called env": tree(
        "pkg", **{"pkg/__init__.py": "", "pkg/env/__init__.py": WAKES}
    ),
    "two packages of one name": tree(
        ".", **{"one/pkg/__init__.py": "", "two/pkg/__init__.py": WAKES}
    ),
    "a namespace package": tree(
        ".", **{"ns/part/a.py": "", "ns/part/b.py": f"from ns.part.a import __name__\n{WAKES}"}
    ),
    "a name with a hyphen": text("a-b.py", WAKES),
    "a name of other letters": text("\u00e4.py", WAKES),
    "a folder with a dot": tree("v1.2", **{"v1.2/a.py": WAKES}),
    "a folder with a blank": tree("my code", **{"my code/a.py": WAKES}),
    "a program of a package": tree("pkg", **{"pkg/__init__.py": "", "pkg/__main__.py": WAKES}),
    "a module that hides the standard library's": tree(".", **{"json.py": WAKES, "a.py": "import json\n"}),
    "what the configuration leaves out": excluded,
    "the same file twice": two_paths,
    "a notebook that times a statement": text("a.ipynb", notebook("%timeit -n 3 0", f"{WAKES}%time X")),
    "a notebook with an operator that looks like magic": text("a.ipynb", notebook(f"y = (5\n%3)\n{WAKES}")),
}  # fmt: skip
CLEAN = {"an empty notebook", "a script of nothing", "an empty file", "only comments"}
"""There is nothing in them that could be missed."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLDFORK_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "packages").mkdir()
    (tmp_path / "pyproject.toml").write_text(CONFIGURATION, encoding="utf-8")
    return tmp_path


def check(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["check", *arguments], input=stdin)


def test_there_are_sixty_kinds_and_more() -> None:
    assert len(INPUTS) >= 60


@pytest.mark.parametrize("kind", INPUTS)
def test_no_input_is_silently_clean(kind: str, folder: Path) -> None:
    result = check(*INPUTS[kind](folder))
    assert "internal error" not in result.output
    if kind in CLEAN:
        assert result.exit_code == 0
        return
    said = "not looked at" in result.stdout or "[" in result.stdout.partition("\n")[0]
    nothing = "nothing was checked" in result.stdout or "exclude" in result.stdout
    assert result.exit_code != 0 or said or nothing, result.output


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("a README", "this is not Python source"),
        ("a wheel", "unpack it"),
        ("a stub", "a stub runs nothing"),
        ("Cython source", "Cython source is not read"),
        ("a device", "not a regular file"),
        ("a pipe", "not a regular file"),
    ],
)
def test_what_is_no_source_is_refused_in_a_line(kind: str, told: str, folder: Path) -> None:
    result = check(*INPUTS[kind](folder))
    assert result.exit_code == 2
    assert told in result.output
    assert result.output.count("\n") == 1


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        ("a notebook", "a.ipynb:cell 1:2"),
        ("a notebook with magics", "a.ipynb:cell 2:2"),
        ("a notebook with a cell magic", "a.ipynb:cell 1:3"),
        ("a notebook that awaits", "a.ipynb:cell 1:3"),
        ("a folder of notebooks", "books/a.ipynb:cell 1:2"),
        ("a namespace package", "ns/part/b.py:3"),
        ("a package that is called env", "pkg/env/__init__.py:2"),
        ("a window's script", "a.pyw:2"),
        ("a script without suffix", "run:3"),
        ("a notebook with an operator that looks like magic", "a.ipynb:cell 1:4"),
    ],
)
def test_the_line_is_found_at_its_place(kind: str, place: str, folder: Path) -> None:
    assert f"--> {place} " in check(*INPUTS[kind](folder), "--fail-for", "library,script,example").stdout


def test_what_does_not_parse_fails_with_line_column_and_caret(folder: Path) -> None:
    result = check(*INPUTS["a syntax error"](folder))
    assert result.exit_code == 1
    assert "--> a.py:1:7\n      def f(:\n            ^\n" in result.stdout


def test_what_is_passed_over_is_named_and_counted(folder: Path) -> None:
    result = check(*INPUTS["a folder that builds go to, in a folder"](folder), "--format", "json")
    assert {"path": "build", "files": 1, "reason": None} in json.loads(result.stdout)["coverage"]["left_out"]
    (second,) = [
        one
        for one in json.loads(check(*INPUTS["two packages of one name"](folder), "--format", "json").stdout)[
            "coverage"
        ]["left_out"]
        if one["reason"]
    ]
    assert second["path"].endswith("two/pkg/__init__.py")


def test_standard_input_stands_in_for_a_file(folder: Path) -> None:
    tree("pkg", **{"pkg/__init__.py": "", "pkg/a.py": "def name(): return 1\n"})(folder)
    result = check("-", "--stdin-filename", "pkg/a.py", "--format", "json", stdin=WAKES)
    assert result.exit_code == 1
    assert [(one["module"], one["file"]) for one in json.loads(result.stdout)["findings"]] == [
        ("pkg.a", "pkg/a.py")
    ]
    assert "--> stdin.py:2 " in check("-", stdin=WAKES).stdout
    assert check("pkg", "--stdin-filename", "x.py").exit_code == 2


def test_fixes_of_standard_input_are_shown_and_written_nowhere(folder: Path) -> None:
    """The buffer is mended, not the file that it stands in for; what would touch that file is refused."""
    tree("pkg", **{"pkg/__init__.py": "", "pkg/a.py": "def name(): return 1\n"})(folder)
    buffer = "import torch\n\n\ndef f(x: bool = torch.cuda.is_available()):\n    return x\n"
    asked = ("-", "--stdin-filename", "pkg/a.py")
    shown = check(*asked, "--diff", stdin=buffer)
    assert shown.exit_code == 1
    assert shown.stdout.startswith("--- a/pkg/a.py\n+++ b/pkg/a.py\n")
    assert "-def f(x: bool = torch.cuda.is_available()):\n+def f(x: bool = None):\n" in shown.stdout
    for option in ("--fix", "--diff --prove", "--confirm"):
        refused = check(*asked, *option.split(), stdin=buffer)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert "standard input" in refused.stderr
    assert (folder / "pkg/a.py").read_text(encoding="utf-8") == "def name(): return 1\n"


def test_what_a_magic_of_a_line_runs_is_followed(folder: Path) -> None:
    (folder / "a.ipynb").write_text(notebook("import torch\n%time y = torch.cuda.current_device()"), "utf-8")
    assert "--> a.ipynb:cell 1:2 " in check("a.ipynb").stdout


@pytest.mark.parametrize("woken", ["a", "b"])
def test_a_script_imports_what_lies_beside_it(woken: str, folder: Path) -> None:
    """Two folders of scripts each have a `utils.py`, of which one wakes the device."""
    for name in ("a", "b"):
        (folder / name).mkdir()
        (folder / name / "utils.py").write_text(WAKES if name == woken else "X = 1\n", encoding="utf-8")
        (folder / name / f"run_{name}.py").write_text("import utils\nfrom utils import X\n", encoding="utf-8")
    found = {name: check(".", "--entry", f"run_{name}", "--format", "json") for name in ("a", "b")}
    assert {name: bool(json.loads(one.stdout)["causes"]) for name, one in found.items()} == {
        "a": woken == "a",
        "b": woken == "b",
    }
    assert [one["warms"] for one in json.loads(check(".", "--format", "json").stdout)["causes"]] == [2]


def test_a_library_does_not_import_what_lies_in_a_folder_of_scripts(folder: Path) -> None:
    tree(
        ".",
        **{"src/core/__init__.py": "", "src/core/m.py": "import datasets\n", "scripts/datasets.py": WAKES},
    )(folder)
    result = check(".", "--entry", "core.m", "--format", "json")
    assert json.loads(result.stdout)["causes"] == []
    assert json.loads(result.stdout)["coverage"]["not_found"] == ["datasets", "torch"]
