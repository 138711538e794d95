"""Generated programs and values: what a function returns here and in another process is the same."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.launch.pool.elsewhere import Elsewhere, Notebook

KINDS = (
    "def", "lambda", "closure", "cached", "decorated", "method", "class-method", "generator", "coroutine",
    "partial", "callable", "default",
)  # fmt: skip

PRELUDE = """
import asyncio, functools, operator
def passes_on(f):
    @functools.wraps(f)
    def wrapper(n): return f(n)
    return wrapper
"""


@dataclass(frozen=True)
class Part:
    """One function of a program: how it is made, the globals that it adds and the functions that it calls."""

    kind: str
    constants: tuple[int, ...]
    calls: tuple[int, ...]

    def source(self, number: int, count: int) -> str:
        """The statements that define `f<number>`, which calls others until its argument is used up."""
        terms = [f"c{number}_{i} * {i + 2}" for i in range(len(self.constants))]
        terms += [f"f{call % count}(n - 1)" for call in self.calls]
        body = f"(n if n < 1 else (n + {' + '.join(terms) or '1'}) % 1000003)"
        lines = [f"c{number}_{i} = {value}" for i, value in enumerate(self.constants)]
        lines.append(_DEFINITIONS[self.kind].format(name=f"f{number}", body=body))
        return "\n".join(lines)


_DEFINITIONS = {
    "def": "def {name}(n): return {body}",
    "lambda": "{name} = lambda n: {body}",
    "closure": (
        "def make_{name}(extra):\n def inner(n):\n  return {body} + extra - extra\n return inner\n"
        "{name} = make_{name}(3)"
    ),
    "cached": "@functools.lru_cache\ndef {name}(n): return {body}",
    "decorated": "@passes_on\ndef {name}(n): return {body}",
    "method": (
        "class B_{name}:\n def m(self, n): return {body}\n"
        "class C_{name}(B_{name}):\n def m(self, n): return super().m(n)\n"
        "{name} = C_{name}().m"
    ),
    "class-method": "class C_{name}:\n @classmethod\n def m(cls, n): return {body}\n{name} = C_{name}.m",
    "generator": (
        "def g_{name}(n):\n yield from ({body} for _ in range(1))\ndef {name}(n): return next(g_{name}(n))"
    ),
    "coroutine": (
        "async def g_{name}(n): return {body}\n"
        "def {name}(n):\n"
        " try: g_{name}(n).send(None)\n"
        " except StopIteration as done: return done.value"
    ),
    "partial": "def p_{name}(a, n): return {body} + a - a\n{name} = functools.partial(p_{name}, 5)",
    "callable": "class C_{name}:\n __slots__ = ()\n def __call__(self, n): return {body}\n{name} = C_{name}()",
    "default": "def {name}(n, add=lambda n: {body}): return add(n)",
}


PARTS = st.lists(
    st.builds(
        Part,
        kind=st.sampled_from(KINDS),
        constants=st.lists(st.integers(-9, 9), max_size=2).map(tuple),
        calls=st.lists(st.integers(0, 5), max_size=2).map(tuple),
    ),
    min_size=1,
    max_size=6,
)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_function_can_be_made(kind: str, notebook: Notebook) -> None:
    notebook.run(PRELUDE + Part(kind, (1,), (0,)).source(0, 1))

    assert notebook["f0"](2) == notebook["f0"](2) != 2


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=PARTS, depth=st.integers(0, 4))
def test_a_program_computes_the_same_over_there(
    parts: list[Part], depth: int, elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = Notebook()
    monkeypatch.setitem(sys.modules, "__main__", notebook.module)
    source = PRELUDE + "\n".join(part.source(number, len(parts)) for number, part in enumerate(parts))
    notebook.run(source)
    functions = [notebook[f"f{number}"] for number in range(len(parts))]

    for function in functions:
        assert elsewhere(function, depth) == function(depth)
    together = notebook["lambda functions, n: [f(n) for f in functions]"]
    assert elsewhere(together, functions, depth) == together(functions, depth)


SHAPES = """
import dataclasses, enum, typing
T = typing.TypeVar('T')
class Colour(enum.Enum):
    RED = 'r'; BLUE = 'b'
class Bits(enum.IntFlag):
    A = 1; B = 2; C = 4
@dataclasses.dataclass
class Leaf:
    value: object
class Pair(typing.NamedTuple):
    left: object
    right: object
class Box(typing.Generic[T]):
    __slots__ = ('inside',)
    def __init__(self, inside): self.inside = inside
    def __eq__(self, other): return type(other) is Box and self.inside == other.inside
    def __hash__(self): return 1
class Words(list): pass
class Fault(Exception): pass
def weigh(x):
    if isinstance(x, Leaf): return ['leaf', weigh(x.value)]
    if isinstance(x, Pair): return ['pair', weigh(x.left), weigh(x.right)]
    if isinstance(x, Box): return ['box', weigh(x.inside)]
    if isinstance(x, Words): return ['words', *map(weigh, x)]
    if isinstance(x, Fault): return ['fault', *map(weigh, x.args)]
    if isinstance(x, (Colour, Bits)): return [type(x).__name__, x.value, x is type(x)(x.value)]
    return x
def both(x): return x, weigh(x)
"""

NODES: dict[str, Callable[[Notebook, Any], Any]] = {
    "leaf": lambda shapes, inside: shapes["Leaf"](inside),
    "pair": lambda shapes, inside: shapes["Pair"](inside, inside),
    "box": lambda shapes, inside: shapes["Box"](inside),
    "words": lambda shapes, inside: shapes["Words"]([inside, 1]),
    "fault": lambda shapes, inside: shapes["Fault"](inside),
    "red": lambda shapes, inside: shapes["Colour"]("r"),
    "bits": lambda shapes, inside: shapes["Bits"](5),
    "number": lambda shapes, inside: 4,
}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(nesting=st.lists(st.sampled_from(sorted(NODES)), max_size=6))
def test_instances_go_there_and_come_home(
    nesting: list[str], elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = Notebook()
    monkeypatch.setitem(sys.modules, "__main__", notebook.module)
    notebook.run(SHAPES)
    value: Any = None
    for node in nesting:
        value = NODES[node](notebook, value)
    home, weight = elsewhere(notebook["both"], value)

    assert weight == notebook["weigh"](value)
    assert notebook["weigh"](home) == weight
    assert type(home) is type(value)
