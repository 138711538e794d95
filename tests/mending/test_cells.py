"""Notebooks: fixes go into their cells, and the rest of the file stays as it was, to the byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from coldfork.cli.main import cli
from coldfork.mending.cells import written
from coldfork.mending.text import CannotMend
from coldfork.model.causes import Applicability, Edit, Fix
from coldfork.source.files import notebooks
from tests.mending.conftest import CONFIGURATION, Mend, write

ASKED = "torch.cuda.is_available()"
CELLS = (
    "%matplotlib inline\nimport torch  # é",
    "%%time\ndef f(x: bool = torch.cuda.is_available()):\n    return x\n",
    "import bitsandbytes",
    "def g():\n    return bitsandbytes",
)


def notebook(*cells: str, lines: bool = True) -> dict[str, object]:
    """A notebook with a text cell before these."""
    sources = [cell.splitlines(keepends=True) if lines else cell for cell in cells]
    code: list[dict[str, object]] = [
        {"cell_type": "code", "outputs": [], "source": source, "metadata": {}} for source in sources
    ]
    text: dict[str, object] = {"cell_type": "markdown", "source": "# é"}
    return {"nbformat": 4, "metadata": {"e": 1e5}, "cells": [text, *code], "nbformat_minor": 5}


@pytest.mark.parametrize(
    "layout",
    [
        {"indent": 1, "ensure_ascii": False},
        {"indent": 4, "sort_keys": True},
        {"indent": None},
        {"indent": None, "separators": (",", ":")},
        {"indent": "\t"},
    ],
    ids=str,
)
@pytest.mark.parametrize("lines", [True, False])
def test_the_rest_of_the_file_stays_as_it_was(mended: Mend, layout: dict[str, object], lines: bool) -> None:
    whole = json.dumps(notebook(*CELLS, lines=lines), **layout) + "\n"  # type: ignore[arg-type]
    done = mended({"pkg/a.ipynb": whole}, Applicability.UNSAFE)
    assert (len(done.mended), done.report.findings) == (2, ())
    (file,) = done.files
    assert file.before == whole.encode()
    new = (
        CELLS[0],
        f"%%time\ndef f(x: bool = None):\n    if x is None:\n        x = {ASKED}\n    return x\n",
        "",
        "def g():\n    import bitsandbytes\n    return bitsandbytes",
    )
    wanted = json.dumps(notebook(*new, lines=lines), **layout) + "\n"  # type: ignore[arg-type]
    assert file.after.decode() == wanted


def test_what_cells_bind_may_be_read_at_any_time(mended: Mend) -> None:
    done = mended({"pkg/a.ipynb": json.dumps(notebook(*CELLS))})
    assert [fix.applicability for fix in done.mended] == ["safe"]
    (left,) = (fix for fix in done.left.values() if isinstance(fix, Fix))
    assert (left.applicability, left.reason) == ("unsafe", "the cells of a notebook may be run in any order")


def test_the_command_names_cells_and_prints_a_patch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLDFORK_CACHE_DIR", str(tmp_path / "cache"))
    text = json.dumps(notebook(*CELLS), indent=1) + "\n"
    write(tmp_path, {"pyproject.toml": CONFIGURATION, "packages/readme": "", "book.ipynb": text})
    patch = CliRunner().invoke(cli, ["check", "--diff", "book.ipynb"])
    assert patch.exit_code == 1
    assert '-    "def f(x: bool = torch.cuda.is_available()):\\n",\n' in patch.stdout
    assert '+    "def f(x: bool = None):\\n",\n' in patch.stdout
    said = CliRunner().invoke(cli, ["check", "--fix", "--format", "json", "book.ipynb"])
    (cause,) = json.loads(said.stdout)["causes"]
    edits = [[edit[key] for key in ("cell", "line", "end_line")] for edit in cause["fix"]["edits"]]
    assert edits == [[4, 1, 2], [5, 2, 2]]
    again = CliRunner().invoke(cli, ["check", "--fix", "book.ipynb"])
    assert "mended" not in again.stderr


@pytest.mark.parametrize(
    ("cell", "edit", "reason"),
    [
        ("a = 1\n%ls\nb = 2", Edit("", 1, 1, 3, 2, "x"), "a magic of cell 1 is inside the edit"),
        ("a = 1", Edit("", 1, 1, 2, 2, ""), "it reaches into another cell"),
        ("a = 1\r\nb", Edit("", 1, 1, 1, 2, "c"), "a line of the cell ends with a carriage return"),
    ],
)
def test_what_is_not_as_it_is_read_is_left(cell: str, edit: Edit, reason: str) -> None:
    code = [{"cell_type": "code", "source": text} for text in (cell, "end = 1")]
    with pytest.raises(CannotMend, match=reason):
        written(json.dumps({"cells": code}).encode(), [edit])


_texts = st.text(st.sampled_from('ab é"\\\n[{,😀'), max_size=12)


@given(st.lists(_texts, min_size=1, max_size=4), st.booleans(), st.integers(0, 3), st.booleans())
def test_an_edit_changes_one_cell_and_nothing_else(
    cells: list[str], lines: bool, chosen: int, ascii_only: bool
) -> None:
    before = notebook(*cells, lines=lines)
    raw = json.dumps(before, indent=1, ensure_ascii=ascii_only).encode()
    first, number = notebooks.read(raw).cells[chosen % len(cells)]
    after = json.loads(written(raw, [Edit("", first, 1, first, 1, "x = 1\n")]))
    texts = ["".join(cell["source"]) for cell in after["cells"]]
    expected = ["# é", *cells]
    new = f"x = 1\n{expected[number - 1]}"
    expected[number - 1] = new if expected[number - 1].endswith("\n") else new.removesuffix("\n")
    assert texts == expected
    assert {**after, "cells": 0} == {**before, "cells": 0}
