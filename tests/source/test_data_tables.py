"""Files that nobody reads for their size, told apart by whether they hold anything but data."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldfork.source.files.reading import LARGEST_FILE
from coldfork.source.reach.remarks import holds_only_data
from tests.amounts import examples
from tests.source.expectations import observe, write

_ROW = "    ('a name', 1.5e-3, -17, None, [True, b'\\x00'], {'k': 0x1F}),\n"
_TABLE = f"TABLE = [\n{_ROW * (LARGEST_FILE // len(_ROW) + 1)}]\n"
_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.complex_numbers(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=12,
)


def told(source: str) -> bool:
    return holds_only_data(source.encode("utf-8", "backslashreplace"))


@settings(max_examples=examples(30))
@given(st.dictionaries(st.from_regex(r"[A-Z_][A-Z0-9_]{0,8}", fullmatch=True), _values, min_size=1))
def test_literals_are_data(values: dict[str, object]) -> None:
    names = {name: repr(value) for name, value in values.items()}
    names = {name: text for name, text in names.items() if "inf" not in text and "nan" not in text}
    source = '"""A table."""\n# generated\n' + "".join(f"{name} = {text}\n" for name, text in names.items())
    assert told(source)


@pytest.mark.parametrize(
    "source",
    [
        "import torch\n",
        "X = f(1)\n",
        "X = Y\n",
        "X = [y for y in (1, 2)]\n",
        "X = f'{wake()}'\n",
        "X = 'a'.join([])\n",
        "X = 1 if True else 2\n",
        "X[0] = 1\n",
        "X.y = 1\n",
        "X: wake() = 1\n",
        "def f(): ...\n",
        "@wake\nclass C: ...\n",
        "X = 'unfinished\nwake() # '\n",
        "X = 3\nwake ()\n",
        "# coding: utf-7\nX = 1\n",
        "del X\n",
    ],
)
def test_whatever_reads_or_calls_is_no_data(source: str) -> None:
    assert not told(source)


@given(st.text("xX=1('\")\n[],.# fwake:\\", max_size=30))
def test_what_is_taken_for_data_holds_no_call(source: str) -> None:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    if told(source):
        nodes = list(ast.walk(tree))
        assert not any(isinstance(node, ast.Attribute | ast.JoinedStr | ast.Import) for node in nodes)
        read = [node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
        assert not read


def test_a_large_table_is_not_reported(tmp_path: Path) -> None:
    write({"engine/__init__.py": "", "engine/table.py": _TABLE}, tmp_path)
    assert observe([tmp_path]).unreadable == ()


def test_a_large_file_that_does_something_is(tmp_path: Path) -> None:
    write({"engine/__init__.py": "", "engine/table.py": f"{_TABLE}print(len(TABLE))\n"}, tmp_path)
    (found,) = observe([tmp_path]).unreadable
    assert (found.path, found.too_large) == ("engine/table.py", True)
    assert json.dumps(found.reason) == '"larger than 8 MB, so it was skipped"'


def test_a_deep_table_is_not_reported(tmp_path: Path) -> None:
    write({"engine/__init__.py": "", "engine/table.py": f"X = {'[' * 150}{']' * 150}\n"}, tmp_path)
    assert observe([tmp_path]).unreadable == ()
