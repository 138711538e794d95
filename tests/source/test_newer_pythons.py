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
#: A test takes ten times as long there. Usually the files about what differs between versions run, and on the
#: last one some of the others; with this variable set, as before a release, all of them run on both.
EVERYTHING = "COLDFORK_NEWER_PYTHONS"
_DIFFERING = re.compile(r"/test_(?:deferred|newer_syntax|lazy|matching|constructs_ways)")
#: How far one of those others lies from the next.
_STEP = 3
#: Into so many runs all files are dealt out, which several processors share.
_SHARES = 2 if os.environ.get(EVERYTHING) else 1

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node here"),
    pytest.mark.skipif(not (FOLDER / "made-from").is_file(), reason="./dev test has not set up .venv/newer"),
]


def shares(version: str) -> list[list[str]]:
    """The files of the tests, dealt out by size."""
    files = [path for room in _ROOMS for path in (ROOT / room).glob("test_*.py")]
    sizes = {path.relative_to(ROOT).as_posix(): path.stat().st_size for path in files}
    names = sorted(sizes.keys() - _OUTSIDE, key=lambda name: (-sizes[name], name))
    if not os.environ.get(EVERYTHING):
        others = [name for name in names if not _DIFFERING.search(name)]
        left_out = {*others} - {*(others[::_STEP] if version == list(PYTHONS)[-1] else ())}
        names = [name for name in names if name not in left_out]
    return [names[share::_SHARES] for share in range(_SHARES)]


RUNS = [(version, share) for version in PYTHONS for share in range(_SHARES)]


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
