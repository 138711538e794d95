"""Which case captured code takes, where a comparison of what is known tells it, and how a read is quoted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.expectations import findings_of, lay_out
from tests.source.test_captured_calls import reported

pytestmark = pytest.mark.once

PROGRAM = """import torch
from elsewhere import Foreign, mode

class Base: pass
class Ours(Base): pass
class Other: pass
class Half(Foreign): pass

def capture(thing, x: torch.Tensor):
    y = torch.zeros(4, device="cuda")
    ours, half, items, pair, table = Ours(), Half(), [1], (1, 2), {{"a": 1}}
    wait = torch.cuda.synchronize
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        if {test}: wait()
"""
STATEMENT = 14

#: Comparisons of which CPython is asked.
CONSTANT = [
    "1 == 1", "1 == 2", "1 != 1", "1 != 2", "'a' == 'a'", "'a' == 'b'", "'a' != 'b'", "None is None",
    "None is not None", "1 == True", "True is True", "True is not False",
    "None == 0", "not 0", "not 1", "0 or 1", "0 or ''", "1 and 2", "1 and 0", "isinstance(1, int)",
    "isinstance('a', int)", "isinstance(True, int)", "isinstance(None, str)", "bool(1)", "bool(0)",
    "1 < 2", "2 < 1", "1 <= 1", "2 > 1", "1 >= 2", "'a' < 'b'", "0 < 1 < 2", "0 < 3 < 2", "2 < 1 < 3",
    "'a' in 'abc'", "'z' in 'abc'", "'z' not in 'abc'", "1 in (1, 2)", "3 in (1, 2)", "3 not in (1, 2)",
    "None in ('a', 1)", "True in (1, 2)", "1 in [1]", "2 in [1]", "2 in {1, 2}", "3 in {1, 2}",
    "'a' in {'a': 1}", "'b' in {'a': 1}", "1 in {'a': 1}", "(1, 2) in ((1, 2), 3)", "(2, 1) in ((1, 2), 3)",
    "1 in ()", "(1, 2) == (1, 2)", "(1, 2) == (2, 1)", "(1, 2) != [1, 2]",
    "[1] == [1]", "{'a': 1} == {'a': 2}",
    "(1, 2) < (1, 3)", "(1, (2,)) == (1, (2,))", "1 + 1 == 2", "2 * 3 > 7",
    "'a' + 'b' == 'ab'", "7 // 2 == 3", "7 % 2 == 0", "-1 < 0", "~0 == -1", "-1 == 1", "len((1, 2)) == 2",
    "len([]) == 0", "len({'a': 1}) > 1", "not len([1])", "isinstance(1, (str, int))",
    "isinstance(1, (str, list))",
    "isinstance((1, 2), (str, tuple))", "isinstance(1, (str, (bytes, int)))",
]  # fmt: skip


def verdict(test: str, folder: Path) -> str | None:
    """How sure it is that a case is taken; None where it cannot be."""
    told = reported(PROGRAM.format(test=test), folder)
    assert set(told) <= {STATEMENT}
    return told.get(STATEMENT)


@pytest.mark.parametrize("test", CONSTANT)
def test_what_constants_compare_to_is_known(test: str, tmp_path: Path) -> None:
    assert verdict(test, tmp_path) == ("certain" if eval(test) else None)


@pytest.mark.parametrize(
    ("test", "wanted"),
    [
        ("thing", "conditional"),
        ("1 is None", None),
        ("1 is not None", "certain"),
        ("not thing", "conditional"),
        ("thing is None", "conditional"),
        ("thing is not None", "conditional"),
        ("thing == 1", "conditional"),
        ("thing > 1", "conditional"),
        ("1 > thing", "conditional"),
        ("1 < 2 < thing", "conditional"),
        ("ours is None", None),
        ("ours is not None", "certain"),
        ("y is None", None),
        ("y is not None", "certain"),
        ("y == 'a'", None),
        ("y != 'a'", "certain"),
        ("capture is None", None),
        ("torch.float16 == torch.float16", "certain"),
        ("torch.float16 == torch.float32", None),
        ("torch.float16 != torch.float32", "certain"),
        ("torch.float16 is torch.float32", None),
        ("torch.float16 == mode", "conditional"),
        ("thing in (1, 2)", "conditional"),
        ("1 in (1, thing)", "conditional"),
        ("1 in thing", "conditional"),
        ("1 < 'a'", "conditional"),
        ("1 in [[]]", None),
        ("pair is None", None),
        ("pair is not None", "certain"),
        ("[] in {1}", "conditional"),
        ("1 in items", "certain"),
        ("2 in items", None),
        ("thing + 1 == 2", "conditional"),
        ("1 / 0 == 2", "conditional"),
        ("len(thing) == 2", "conditional"),
        ("len(items) == 1", "certain"),
        ("isinstance(thing, (int, str))", "conditional"),
        ("isinstance(ours, (Other, Base))", "certain"),
        ("isinstance(ours, (Other, Foreign))", "conditional"),
        ("isinstance(ours, thing)", "conditional"),
        ("isinstance(ours, Ours)", "certain"),
        ("isinstance(ours, Base)", "certain"),
        ("isinstance(ours, Other)", None),
        ("isinstance(ours, Foreign)", "conditional"),
        ("isinstance(half, Foreign)", "certain"),
        ("isinstance(half, Ours)", "conditional"),
        ("isinstance(thing, Ours)", "conditional"),
        ("isinstance(y, torch.Tensor)", "certain"),
        ("isinstance(y, Ours)", None),
        ("isinstance(y, Foreign)", "conditional"),
        ("isinstance(1, Ours)", None),
        ("isinstance(1, Foreign)", None),
        ("isinstance(1, 2)", "conditional"),
        ("isinstance(1, torch)", "conditional"),
        ("isinstance(1, thing)", "conditional"),
        ("isinstance(items, list)", "certain"),
        ("isinstance(items, tuple)", None),
        ("isinstance(items, object)", "certain"),
        ("isinstance(items, Foreign)", None),
        ("isinstance(pair, tuple)", "certain"),
        ("isinstance(table, dict)", "certain"),
        ("isinstance(table, list)", None),
        ("torch.cuda.is_available()", "certain"),
        ("torch.cuda.is_current_stream_capturing()", "certain"),
        ("torch.compiler.is_compiling()", None),
        ("torch.jit.is_scripting()", None),
        ("torch.jit.is_tracing()", None),
    ],
)
def test_what_is_known_of_objects(test: str, wanted: str | None, tmp_path: Path) -> None:
    assert verdict(test, tmp_path) == wanted


#: Names of torch that captured code compares, some of which mean the same.
TYPES = (
    "float16",
    "half",
    "float32",
    "float",
    "float64",
    "double",
    "bfloat16",
    "int32",
    "int",
    "int64",
    "long",
)
PAIRS = [(one, other) for one in TYPES for other in TYPES]


@pytest.mark.parametrize("operator", ["==", "is not"])
def test_two_names_of_torch_may_mean_the_same(operator: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    lines = "".join(f"        if torch.{one} {operator} torch.{other}: wait()\n" for one, other in PAIRS)
    told = reported(PROGRAM.format(test="thing").replace("        if thing: wait()\n", lines), tmp_path)
    for number, (one, other) in enumerate(PAIRS, STATEMENT):
        same = getattr(torch, one) is getattr(torch, other)
        wanted = "certain" if same == (operator == "==") else None
        assert told.get(number) in (wanted, "conditional"), (one, other)
    assert "certain" in told.values()
    assert len(told) < len(PAIRS)


@pytest.mark.parametrize(
    ("test", "wanted"),
    [
        ("elsewhere.one == elsewhere.other", "conditional"),
        ("elsewhere.one != elsewhere.other", "conditional"),
        ("elsewhere.one is elsewhere.one", "certain"),
        ("elsewhere.Mode.ONE == elsewhere.Mode.OTHER", None),
        ("elsewhere.Mode.ONE is not elsewhere.Mode.OTHER", "certain"),
        ("elsewhere.Mode.ONE is elsewhere.Mode.ONE", "certain"),
        ("elsewhere.Mode.ONE == elsewhere.Kind.ONE", "conditional"),
        ("Foreign == mode", "conditional"),
    ],
)
def test_two_names_of_a_module_from_elsewhere_may_mean_the_same(
    test: str, wanted: str | None, tmp_path: Path
) -> None:
    source = PROGRAM.format(test=test).replace("from elsewhere", "import elsewhere; from elsewhere", 1)
    assert reported(source, tmp_path) == ({STATEMENT: wanted} if wanted else {})


@pytest.mark.parametrize(
    ("expression", "quoted"),
    [
        ("y.item()", "y.item()"),
        ("y[0].item()", "y[0].item()"),
        ("y['a'].item()", "y['a'].item()"),
        ("y[1:2].item()", "y[...].item()"),
        ("y.sum().item()", "y.sum().item()"),
        ("y.sum(1).item()", "y.sum(...).item()"),
        ("y.sum(dim=1).item()", "y.sum(...).item()"),
        ("(y + 1).item()", "(...).item()"),
        ("y.unique(1)", "y.unique(...)"),
        ("y.unique(sorted=True)", "y.unique(...)"),
        ("y[y > 0]", "y[(...)]"),
        ("int(y)", "int of y"),
        ("print(y)", "print of y"),
    ],
)
def test_a_read_is_quoted_in_few_words(expression: str, quoted: str, tmp_path: Path) -> None:
    lay_out(PROGRAM.replace("if {test}: wait()", expression).replace("{{", "{").replace("}}", "}"), tmp_path)
    found = [one for one in findings_of(tmp_path) if one.rule == "sync-in-captured-region"]
    assert [one.chain.steps[-1].symbol for one in found] == [quoted]


def test_a_parameter_is_not_the_class_of_its_name(tmp_path: Path) -> None:
    source = PROGRAM.format(test="isinstance(1, str)").replace("(thing,", "(str,")
    assert reported(source, tmp_path) == {STATEMENT: "conditional"}
