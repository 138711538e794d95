"""Modules that take too long to follow: they are named, with the place, and what was found still counts."""

from __future__ import annotations

from pathlib import Path

import coldfork
from coldfork.model.observations import Unfinished
from tests.source.expectations import observe, write

#: A call in each line, so that no step of it can be remembered for the next.
_LONG = """\
import torch

def one(number):
    return number

""" + "".join(f"V{n} = one({n})\n" for n in range(4_000))
_LOOP = """\
def one(*numbers):
    return numbers

def many():
    for n in range(30):
        for m in range(30):
            for o in range(30):
                one(n, m, o)

many()
"""


def _unfinished(files: dict[str, str], folder: Path) -> tuple[Unfinished, ...]:
    write(files, folder)
    return observe([folder]).unfinished


def test_a_module_that_ends_in_time_is_not_named(tmp_path: Path) -> None:
    assert _unfinished({"engine/__init__.py": "", "engine/short.py": "VALUE = len('abc')\n"}, tmp_path) == ()


def test_where_the_budget_ends_is_named(tmp_path: Path) -> None:
    (found,) = _unfinished({"engine/__init__.py": "", "engine/long.py": _LONG}, tmp_path)
    assert (found.module, found.path, found.what) == ("engine.long", "engine/long.py", "budget")
    assert _LONG.splitlines()[found.line - 1].startswith("V")


def test_a_loop_that_runs_ends_with_the_budget(tmp_path: Path) -> None:
    (found,) = _unfinished({"engine/__init__.py": "", "engine/loop.py": _LOOP}, tmp_path)
    assert (found.function, found.path) == ("many", "engine/loop.py")


def test_a_program_that_is_not_followed_to_its_end_is_named(tmp_path: Path) -> None:
    calls = "".join(f"    one({n})\n" for n in range(5_000))
    program = "import multiprocessing\n\ndef one(number):\n    return number\n\nif __name__ == '__main__':\n"
    write({"train.py": program + calls}, tmp_path)
    (found,) = coldfork.check([tmp_path]).unfinished
    assert (found.module, found.path, found.what) == ("train", "train.py", "budget")


def test_what_was_found_before_the_end_still_counts(tmp_path: Path) -> None:
    source = f"{_LONG}\nNAME = torch.cuda.get_device_name()\n"
    write({"engine/__init__.py": "", "engine/long.py": source}, tmp_path)
    observation = observe([tmp_path])
    assert [one.module for one in observation.unfinished] == ["engine.long"]
    assert [effect.chain.steps[0].line for effect in observation.effects] == [len(source.splitlines())]


def test_who_asks_for_the_same_answer_is_named_as_well(tmp_path: Path) -> None:
    user = "from engine.loop import many\n\nmany()\n"
    files = {"engine/__init__.py": "", "engine/loop.py": _LOOP, "engine/user.py": user}
    found = _unfinished(files, tmp_path)
    assert [one.module for one in found] == ["engine.loop", "engine.user"]
    assert {(one.function, one.path) for one in found} == {("many", "engine/loop.py")}
