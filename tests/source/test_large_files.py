"""Large files are parsed in parts, without the constants of their tables: no statement or call is lost."""

from __future__ import annotations

import ast
import sysconfig
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coldfork.source.syntax import large_files
from coldfork.source.syntax.summary import summarise
from tests.amounts import examples
from tests.source.expectations import assert_as_expected

LIBRARY = Path(sysconfig.get_paths()["stdlib"])
FILES = sorted(path for path in LIBRARY.glob("*.py") if path.stat().st_size < 60_000)
STATEMENTS = (
    "a = 1\n",
    "b = (\n1,\n2,\n)\n",
    "c = '''\nd = 1\nelse:\n'''\n",
    "if a:\n    b = 2\nelif b:\n    pass\nelse:\n    c = 3\n",
    "try:\n    a()\n\nexcept ValueError:\n    pass\nelse:\n    b()\nfinally:\n    c()\n",
    "@decorator\n# and a comment\n@another(1)\ndef f():\n    '''\nx = 1\n'''\n    return 1\n",
    "class A:\n    x: int = 1\n\n    def m(self): return 2\n",
    "while a: break\nelse:\n    b\n",
    "x = 1 + \\\n2\n",
    "# a comment\n\n\n",
    "match a:\n    case 1: pass\n",
    "async def g():\n    await f()\n",
    "y = {\n'a': [1,\n2], 'b': f(\nx)}\n",
    "text = 'it' \"'s\"\n",
)


def dumped(body: list[ast.stmt]) -> list[str]:
    return [ast.dump(node, include_attributes=True) for node in body]


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=12), st.integers(1, 60))
def test_parts_come_to_the_whole(monkeypatch: pytest.MonkeyPatch, parts: list[str], size: int) -> None:
    monkeypatch.setattr(large_files, "_PART", size)
    source = "".join(parts).encode()
    assert dumped(list(large_files.statements(source))) == dumped(ast.parse(source).body)


def test_parts_of_the_standard_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_files, "_PART", 1_500)
    monkeypatch.setattr(large_files, "_LONG_RUN", 1_000_000)
    for path in FILES[::5]:
        source = path.read_bytes()
        assert dumped(list(large_files.statements(source))) == dumped(ast.parse(source).body), path.name


def test_what_does_not_parse_in_parts_is_told_so() -> None:
    with pytest.raises(SyntaxError):
        list(large_files.statements(b"a = 1\nb = (\n"))


def said(tree: ast.AST) -> list[tuple[str, int, int, str]]:
    """All that is no constant and no display of these: what it is, and where."""
    return [
        (type(node).__name__, node.lineno, node.col_offset, getattr(node, "id", getattr(node, "attr", "")))
        for node in ast.walk(tree)
        if isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.stmt, ast.BinOp, ast.JoinedStr))
    ]


def test_the_standard_library_without_constants_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_files, "_LONG_RUN", 25)
    shorter = 0
    for path in FILES[::3]:
        source = path.read_bytes()
        left = large_files.without_tables(source)
        try:
            tree = ast.parse(left)
        except SyntaxError:  # a run of constants where none may be unpacked: then all of it is parsed
            continue
        assert said(tree) == said(ast.parse(source)), path.name
        shorter += left != source
    assert shorter > 8


ENTRIES = (
    "'a': 1,",
    '"b": "it\'s",',
    "'c': [1, 2.5e-3, -3],",
    "'d': {'x': (1, 2), 'y': None},",
    "4: 0x1F,",
    "'e': 'one' 'two',\n",
    "'f': True, # a comment, with 'quotes\n",
    "b'g': {\n  'h': [\n  1,\n 2]},",
    "'': '',",
    "'i': call(1, 2, 3),",
    "'j': lambda: 1,",
    "name: 1,",
    "'k': x if 1 else 2,",
    "'l': f'{name}',",
    "'m': 1 + 2,",
    "'n': [call(), 1],",
    "**other,",
    "'o': '''p': 1, 'q': 2, 'r': 3,''',",
)


@settings(max_examples=examples(100), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.tuples(st.sampled_from(ENTRIES), st.integers(1, 6)), min_size=1, max_size=8),
    st.sampled_from(("\n", " ", "\n    ")),
)
def test_a_table_keeps_all_that_runs(
    monkeypatch: pytest.MonkeyPatch, entries: list[tuple[str, int]], between: str
) -> None:
    monkeypatch.setattr(large_files, "_LONG_RUN", 30)
    listed = between.join(entry for entry, times in entries for _ in range(times))
    source = f"before()\nT = {{{listed}}}; after(1)\nend()\n".encode()
    left = large_files.without_tables(source)
    assert said(ast.parse(left)) == said(ast.parse(source))
    if left != source:
        (table,) = (node for node in ast.walk(ast.parse(left)) if isinstance(node, ast.Assign))
        assert any(ast.dump(node) in ("None", "Constant(value=0)") or isinstance(node, ast.Starred)
                   for node in ast.walk(table.value)), "nothing says that entries were left out"  # fmt: skip


def table(entries: int, inside: str = "") -> str:
    lines = [
        f"    'key_{n}': {{'name': 'entry {n}', 'size': {n * 7919}, 'shape': ({n}, 3)}},\n"
        for n in range(entries)
    ]
    lines.insert(entries // 2, inside)
    return "T = {\n" + "".join(lines) + "}\n"


def descriptors(messages: int) -> str:
    """The module that tools generate from a description of messages."""
    return "".join(
        f"_MESSAGE{n} = _descriptor.Descriptor(\n  name='Message{n}', filename='package.proto', fields=[\n"
        + "    _descriptor.FieldDescriptor(name='one', number=1, default_value=b'', file=DESCRIPTOR),\n" * 4
        + f"  ], serialized_start={n})\n_globals['_MESSAGE{n}']._serialized_end={n}\n"
        for n in range(messages)
    )


@pytest.mark.parametrize(
    ("source", "times"),
    [(table(4_000), 6), (table(8_000), 6), (descriptors(700), 60), (descriptors(1_400), 40)],
    ids=["table", "twice the table", "descriptors", "twice the descriptors"],
)
def test_reading_takes_a_few_times_the_room_of_the_source(source: str, times: int) -> None:
    raw = source.encode()
    assert large_files.is_large(raw)
    summarise(raw, (3, 11))
    tracemalloc.start()
    try:
        summary = summarise(raw, (3, 11))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert summary.error is None
    assert peak < times * len(raw), f"{peak / len(raw):.1f} times"


def test_what_stands_in_and_behind_a_large_table_is_found(tmp_path: Path) -> None:
    awake = "    'one': torch.cuda.current_device(),  # expect: device-init-at-import\n"
    source = (
        "import torch\n\n\ndef size_of(name):\n    return T[name]['size']\n\n\n"
        + table(3_000, awake)
        + "if 'key_2999' in T:\n"
        + "    ONE = torch.cuda.get_device_name()  # expect: device-init-at-import conditional\n"
        + "SIZE = size_of('key_2999')\nTWO = torch.cuda.get_device_name()  # expect: device-init-at-import\n"
    )
    assert large_files.is_large(source.encode())
    assert_as_expected(f"### engine.py\n{source}", tmp_path)
