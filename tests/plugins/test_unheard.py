"""Variables that had no effect on a program: it is told at its end, and only then."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.launch.sidebyside import variables

USES = "import coldfork; coldfork.decide()"
FORKS = "import os, coldfork; coldfork.decide(); p = os.fork(); p and os.waitpid(p, 0)"
SPAWNS = (
    "import coldfork\nfrom multiprocessing import get_context\n"
    "if __name__ == '__main__':\n    coldfork.decide()\n"
    "    p = get_context('spawn').Process(target=coldfork.decide)\n    p.start(); p.join()"
)


def errors(program: str, **extra: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", program], env=variables(extra), capture_output=True, text=True, check=True
    )
    return done.stderr.splitlines()


@pytest.mark.parametrize("program", [USES, FORKS, SPAWNS])
def test_a_guard_that_was_never_on_is_told_once(program: str) -> None:
    (said,) = errors(program, COLDFORK_GUARD="strict")
    assert said.startswith("coldfork: COLDFORK_GUARD=strict had no effect on this program: ")
    assert "`coldfork guard install`" in said


def test_a_virtual_device_that_was_never_there_is_told() -> None:
    (said,) = errors(USES, COLDFORK_VIRTUAL="h100")
    assert said.startswith("coldfork: COLDFORK_VIRTUAL=h100 had no effect on this program: ")
    assert said.endswith("coldfork.virtual.install('h100')")


@pytest.mark.parametrize(
    ("name", "value", "program"),
    [
        ("COLDFORK_GUARD", "strict", USES + "; coldfork.guard()"),
        ("COLDFORK_GUARD", "strict", "import coldfork\nwith coldfork.guard(): coldfork.decide()"),
        ("COLDFORK_GUARD", "off", USES),
        ("COLDFORK_GUARD", "", USES),
        ("COLDFORK_VIRTUAL", "h100", "from coldfork import virtual; virtual.install('h100')"),
        ("COLDFORK_GUARD", "strict", "import coldfork"),
    ],
)
def test_nothing_is_said_where_it_had_one_or_was_asked_of_nobody(name: str, value: str, program: str) -> None:
    assert errors(program, **{name: value}) == []
