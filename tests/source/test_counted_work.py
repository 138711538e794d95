"""Long work counts against the budget, however it is written: it is bounded by the steps counted.

Work is counted in calls of functions, Python's and C's, and never by a clock.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coldfork.model.observations import Observation
from coldfork.source.evaluation import budget
from tests.amounts import examples
from tests.source.expectations import observe, write

#: So that a test takes little time.
STEPS = 400
#: Calls that one step may take, and calls that reading and following a character of the source once may take.
CALLS_OF_A_STEP = 120
CALLS_OF_A_CHARACTER = 20

ITEMS = f"X = {list(range(60))}\n"
TABLE = "T = {" + ",".join(f"'k{n}': {n}" for n in range(4_000)) + "}\n"


def calls(body: str, times: int = 300) -> str:
    """A function of one argument, called with as many different ones."""
    return f"def f(i): return {body}\n" + "".join(f"f({n})\n" for n in range(times))


def again(statement: str, times: int = 40) -> str:
    """The same statement, so many times."""
    return f"{statement}\n" * times


#: They come to their end only where the budget ends them.
ENDED = {
    "comprehension": ITEMS + "Y = [(a, b, c, d) for a in X for b in X for c in X for d in X]\n",
    "comprehension of a call that cannot be followed": (
        "import elsewhere\n"
        + ITEMS
        + "Y = [elsewhere.F(a, b, c, d=d) for a in X for b in X for c in X for d in X]\n"
    ),
    "comprehensions in each other": ITEMS + "Y = [[[[a for a in X] for b in X] for c in X] for d in X]\n",
    "dictionary and set": ITEMS + "Y = {(a, b, c): {d for d in X} for a in X for b in X for c in X}\n",
    "generator": ITEMS + "Y = list((a, b, c, d) for a in X for b in X for c in X for d in X)\n",
    "tests that never hold": ITEMS + "Y = [a for a in X for b in X for c in X if a == 'x']\n",
    "loops without a body": ITEMS + "for a in X:\n for b in X:\n  for c in X:\n   for d in X: pass\n",
    "map": ITEMS + "Y = list(map(lambda a: list(map(lambda b: list(map(lambda c: (a, b, c), X)), X)), X))\n",
    "arguments unpacked": ITEMS + "def f(*a): return a\nY = ()\nfor a in X:\n for b in X: Y = f(*Y, *X)\n",
    "a key that a table lacks": TABLE + calls("T.get(str(i) + 'x')"),
    "a key that is not known": "import elsewhere\n" + TABLE + calls("T[elsewhere.x(i)]"),
    "copies of a table": TABLE + calls("{**T, i: i}"),
    "a long display": calls(str(list(range(1_000)))),
    "lines of a text": "T = '''" + "line\n" * 4_000 + "'''\n" + calls("T.split('\\n')"),
    "a generator remembered": ITEMS + "def g():\n for a in X: yield from X\n" + again("sum(g())", 300),
}
#: They come to their end, because what would be large is not made.
SHORT = {
    "items repeated": "Y = [0] * 10**9\n",
    "a text repeated": "Y = 'a' * 10**9\n",
    "powers and shifts": "Y = 2 ** 10**9\nZ = 1 << 10**9\n",
    "squares": "Y = 10\n" + again("Y = Y * Y"),
    "a range that has no length": "for i in range(10000000000000000000000000000): pass\n",
    "widths in a format": "Y = '%900000000d' % 1\nZ = '%*d' % (900000000, 1)\n",
    "widths in another format": "Y = '{:>900000000}'.format(1)\nZ = '{:>{}}'.format(1, 900000000)\n",
    "zeros before a number": "Y = 'a'.zfill(900000000)\n",
    "a text that replaces": "Y = 'a' * 1500\n" + again("Y = Y.replace('a', Y)"),
    "a text that joins": "Y = 'ab'\n" + again("Y = Y.join([Y, Y, Y])"),
    "tuples in tuples": "Y = (1,)\n" + again("Y = (Y, Y)") + "Z = {Y: 1}\nW = Y == Y\n",
    "lists in lists": "Y = [1]\n" + again("Y = [Y, Y]") + "Z = Y == Y\nW = Y in [Y]\n",
    "classes in tuples": "class A: pass\nY = (int, A)\n" + again("Y = (Y, Y)") + "Z = isinstance('a', Y)\n",
    "a list added to itself": "Y = [1]\n" + again("Y = Y + Y") + again("Y += Y"),
    "pairs of pairs": ITEMS + again("X = list(zip(X, X))") + "Y = X == X\n",
    "generators of generators": "def g0():\n yield 1\n"
    + "".join(f"def g{n}():\n yield from g{n - 1}()\n yield from g{n - 1}()\n" for n in range(1, 40))
    + "Y = list(g39())\n",
    "a list in a list in a list": ITEMS + "Y = []\nfor a in X:\n for b in X[:4]: Y = [Y]\nZ = Y == Y\n",
}


def followed(program: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Observation, int]:
    """The observation of a program, and how many calls it takes to follow it."""
    monkeypatch.setattr(budget, "_STATEMENTS", STEPS)
    write({"code.py": f"import torch\n{program}\nNAME = torch.cuda.get_device_name()\n"}, folder)
    observe([folder])  # so that what is read once and imported once does not count
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        found = observe([folder])
    finally:
        sys.setprofile(None)
    return found, count


def assert_bounded(program: str, observation: Observation, count: int) -> None:
    (effect,) = observation.effects
    assert effect.chain.steps[-1].symbol == "torch.cuda.get_device_name", "what stands behind was lost"
    most = CALLS_OF_A_STEP * STEPS + CALLS_OF_A_CHARACTER * len(program) + 24_000
    assert count <= most, f"{count} calls, where {most} were to be enough"


@pytest.mark.parametrize("name", ENDED)
def test_work_ends_with_the_budget(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    observation, count = followed(ENDED[name], tmp_path, monkeypatch)
    assert [one.what for one in observation.unfinished] == ["budget"]
    assert_bounded(ENDED[name], observation, count)


def test_a_long_call_leaves_some_of_the_budget_to_the_calls_below_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget, "_STATEMENTS", STEPS)
    program = (
        f"import torch\n{ITEMS}"
        "def long(): return [(a, b, c, d) for a in X for b in X for c in X for d in X]\n"
        "def given(value):\n    return value\nlong()\nNAME = given(torch.cuda.get_device_name)()\n"
    )
    write({"code.py": program}, tmp_path)
    observation = observe([tmp_path])
    assert [one.what for one in observation.unfinished] == ["budget"]
    assert [effect.chain.steps[-1].symbol for effect in observation.effects] == ["torch.cuda.get_device_name"]


@pytest.mark.parametrize("name", SHORT)
def test_what_would_be_large_is_not_made(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    observation, count = followed(SHORT[name], tmp_path, monkeypatch)
    assert_bounded(SHORT[name], observation, count)


LOOPS = ("for", "list", "set", "dict", "generator")


@settings(max_examples=examples(12), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.sampled_from(LOOPS), st.integers(2, 60)), min_size=2, max_size=4))
def test_loops_in_loops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loops: list[tuple[str, int]]
) -> None:
    """The innermost is gone through as often as the product of all says, or the budget ends them."""
    program, names, rounds = "import elsewhere\n", [], 1
    expression = "elsewhere.Config({names}, warps=4)"
    statements = []
    for depth, (kind, length) in enumerate(loops):
        name = f"n{depth}"
        names.append(name)
        rounds *= length
        statements.append((kind, f"for {name} in {list(range(length))}"))
    made = expression.format(names=", ".join(names))
    while statements and statements[-1][0] != "for":
        kind, header = statements.pop()
        made = {
            "list": f"[{made} {header}]",
            "set": f"{{{made} {header}}}",
            "dict": f"{{{names[len(statements)]}: {made} {header}}}",
            "generator": f"list({made} {header})",
        }[kind]
    lines = [header for _, header in statements]
    program += "".join(f"{' ' * depth}{line}:\n" for depth, line in enumerate(lines))
    program += f"{' ' * len(lines)}Y = {made}\n"
    observation, count = followed(program, tmp_path, monkeypatch)
    assert_bounded(program, observation, count)
    if rounds > STEPS:
        assert [one.what for one in observation.unfinished] == ["budget"]
