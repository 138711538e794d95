"""Lines of a function that are said to come before others, held against runs of CPython."""

from __future__ import annotations

import random
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coldfork.source.files.reading import Reader
from coldfork.source.reach.execution_order import AlwaysBefore
from tests.amounts import examples

_SIMPLE = st.sampled_from([
    "e({})",
    "x = e({})",
    "c() and e({})",
    "e({}) and c()",
    "x = e({}) if c() else 0",
    "x = 0 if e({}) else c()",
    "x = [e({}) for _ in range(r())]",
    "x = lambda: e({})",
    "x = c() < e({}) < 2",
    "return e({})",
    "assert e({}) or True",
    "if c(): e({})",
    "if e({}): c()",
    "if c(): return",
    "c()",
])  # fmt: skip
_HEADS = [
    ("if e({}):", "else:"),
    ("if c():", "else:"),
    ("for _ in range(e({}) and r()):", "else:"),
    ("for _ in range(r()):", ""),
    ("with m(e({})):", ""),
    ("try:", "except ValueError:"),
    ("try:", "finally:"),
]


@st.composite
def blocks(draw: st.DrawFn, depth: int = 0) -> list[str]:
    """The lines of a block."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        if depth < 2 and draw(st.integers(0, 2)) == 0:
            head, other = draw(st.sampled_from(_HEADS))
            lines.append(head)
            lines += [f"    {line}" for line in draw(blocks(depth + 1))]
            if other:
                lines.append(other)
                lines += [f"    {line}" for line in draw(blocks(depth + 1))]
        else:
            lines.append(draw(_SIMPLE))
    return lines


def trace(source: str, seed: int) -> list[int]:
    """The lines at which `e` is called in one run; whether a test holds, or a call fails, is drawn."""
    chance = random.Random(seed)
    seen: list[int] = []

    def e(line: int) -> bool:
        seen.append(line)
        if chance.random() < 0.1:
            raise ValueError
        return chance.random() < 0.5

    class Manager:
        def __init__(self, *_: object) -> None: ...

        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> bool:
            return chance.random() < 0.3

    given_names = {"e": e, "c": lambda: chance.random() < 0.5, "r": lambda: chance.randrange(3), "m": Manager}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python 3.14 warns of a `return` in a `finally`
        code = compile(f"{source}\nf()\n", "traced", "exec", dont_inherit=True)
    try:
        exec(code, given_names)
    except ValueError:
        pass
    return seen


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(blocks())
def test_what_always_comes_before_did_in_every_run(
    tmp_path_factory: pytest.TempPathFactory, body: list[str]
) -> None:
    lines = ["def f():", *(f"    {line}" for line in body)]
    source = "\n".join(line.format(number) for number, line in enumerate(lines, 1)) + "\n"
    path = tmp_path_factory.getbasetemp() / "before.py"
    path.write_text(source, encoding="utf-8")
    always_before = AlwaysBefore(Reader().read_source)
    events = [number for number, line in enumerate(lines, 1) if "e({})" in line]
    pairs = [(a, b) for a in events for b in events if a < b and always_before(str(path), a, b)]
    for seed in range(40):
        seen = trace(source, seed)
        for earlier, later in pairs:
            assert later not in seen or earlier in seen[: seen.index(later)], (source, earlier, later)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("    e(2)\n    e(3)\n", True),
        ("    if e(2):\n        return\n    e(4)\n", True),
        ("    if e(2):\n        e(3)\n", True),
        ("    with e(2):\n        e(3)\n", True),
        ("    for x in e(2):\n        e(3)\n", True),
        ("    while e(2):\n        e(3)\n", True),
        ("    try:\n        e(3)\n        e(4)\n    finally:\n        pass\n", True),
        ("    if c:\n        e(3)\n    e(4)\n", False),
        ("    if c:\n        e(3)\n    else:\n        e(5)\n", False),
    ],
)
def test_lines_of_a_function(tmp_path: Path, body: str, expected: bool) -> None:
    path = tmp_path / "f.py"
    path.write_text(f"def f():\n{body}", encoding="utf-8")
    earlier, later = (int(part[0]) for part in body.split("e(")[1:])
    assert AlwaysBefore(Reader().read_source)(str(path), earlier, later) is expected
