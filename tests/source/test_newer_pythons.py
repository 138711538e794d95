"""The tests of these rooms on Pythons that are newer than those of this machine, run under Node.

`./dev test` puts them into `.venv/newer`. What needs a compiled package or a process of its own is left out.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import pytest

from newer_pythons.install import FOLDER, PYTHONS, ROOT

#: They load the command line, whose packages are compiled.
_OUTSIDE = frozenset({"tests/source/test_captures_told.py", "tests/knowledge/test_troubles.py"})
_ROOMS = ("tests/source", "tests/knowledge", "tests/rules")
#: The last one runs them all. The one before it runs those about what differs between the two, to save time;
#: with this variable set it runs them all as well.
EVERYTHING = "COLDFORK_NEWER_PYTHONS"
_DIFFERING = re.compile(r"/test_(?:deferred|newer_syntax|lazy|matching|constructs_ways)")

#: Into so many runs the tests of all rooms are dealt out, which several processors share. A run takes seconds
#: to start, so that a few files are one.
_SHARES = 2
_FEW = 20

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node here"),
    pytest.mark.skipif(not (FOLDER / "made-from").is_file(), reason="./dev test has not set up .venv/newer"),
]


def shares(version: str) -> list[list[str]]:
    """The files of the tests, dealt out by size."""
    everything = version == list(PYTHONS)[-1] or bool(os.environ.get(EVERYTHING))
    files = [path for room in _ROOMS for path in (ROOT / room).glob("test_*.py")]
    named = {path.relative_to(ROOT).as_posix(): path.stat().st_size for path in files}
    chosen = [name for name in named if name not in _OUTSIDE and (everything or _DIFFERING.search(name))]
    chosen.sort(key=lambda name: (-named[name], name))
    into = 1 if len(chosen) < _FEW else _SHARES
    return [chosen[share::into] for share in range(into)]


RUNS = [(version, share) for version in PYTHONS for share in range(len(shares(version)))]


@pytest.mark.parametrize(("version", "share"), RUNS)
def test_the_rooms_hold_on_a_newer_python(version: str, share: int) -> None:
    tools = ROOT / "tools" / "newer_pythons"
    command = ["node", str(tools / "start.mjs"), str(FOLDER / version / "package"), "--mount", str(ROOT)]
    chosen = shares(version)[share]
    done = subprocess.run(
        [
            *command,
            str(tools / "run_tests.py"),
            str(FOLDER / "packages"),
            *("-q", "--tb=short", "-m", "not once", "-p", "no:cacheprovider"),
            *chosen,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=2_400,
    )
    assert done.returncode == 0, done.stdout[-6_000:] + done.stderr[-2_000:]
    first, *_, last = done.stdout.splitlines()
    assert first == PYTHONS[version]
    assert " passed" in last
