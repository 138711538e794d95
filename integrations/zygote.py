"""CPython's own tests of multiprocessing, with a zygote in forkserver's place: `./dev integration zygote`

Needs a CPython that was installed with its `test` package. Takes a few minutes.
"""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from pathlib import Path

from integrations.environment import Ended, Environment, undisturbed
from integrations.transcript import Transcript, main
from published.errors import UnavailableError
from published.places import ROOT

ENVIRONMENT = Environment("zygote", ("click", "rich", "msgspec", "packaging", "pathspec"))
_PROGRAM = "zygote_multiprocessing"
_RAN = re.compile(r"^Ran (\d+) tests", re.MULTILINE)
_FAILED = re.compile(r"^(?:FAIL|ERROR): (\w+) \(", re.MULTILINE)
_SKIPPED = re.compile(r"\bskipped=(\d+)")

_UNKNOWN = "starts a program that asks for the method by its name and does not import coldfork"
#: Cases that ask for what a zygote does not do.
SEEN = {
    "test_flags": _UNKNOWN,
    "test_noforkbomb": _UNKNOWN,
}
#: Waits five minutes for what will not come, in each of its variants.
_LEFT_OUT = "test_parent_process"

INTRODUCTION = """
`./dev integration zygote` runs `test._test_multiprocessing` of CPython, the body of its tests for fork, spawn
and forkserver, with the start method `zygote`. One case is left out, because what it waits for does not come:
`test_parent_process` wants a process to outlive the one that started it, and a worker's own worker ends with
it.
"""


def run() -> Transcript:
    """Run them all."""
    if not (Path(sysconfig.get_path("stdlib")) / "test" / "_test_multiprocessing.py").is_file():
        raise UnavailableError(f"{sys.executable} was installed without its `test` package")
    ENVIRONMENT.prepare()
    ENVIRONMENT.pip("install", "--quiet", "--no-deps", "--force-reinstall", str(ROOT))
    output = _tested()
    ran, skipped = _RAN.search(output), _SKIPPED.search(output)
    if ran is None:
        raise UnavailableError(f"the tests came to no end:\n{output[-2000:]}")
    failed = sorted(set(_FAILED.findall(output)))
    told = [f"{ran[1]} ran, {skipped[1] if skipped else 0} of them skipped", "these fail:"]
    told += [f"{case}: {SEEN.get(case, 'FAILS')}" for case in failed]
    transcript = Transcript(
        f"CPython's tests of multiprocessing with a zygote, {sys.version.split()[0]}", INTRODUCTION
    )
    transcript.step("`test._test_multiprocessing` with the start method `zygote`.", Ended(0, "\n".join(told)))
    transcript.promise(
        "No case fails but those that ask for what a zygote does not do.", set(failed) <= set(SEEN)
    )
    return transcript


def _tested() -> str:
    """Run the tests and return what they print."""
    return ENVIRONMENT.printed(["-m", "unittest", "-v", *_names()], _environment())


def _names() -> list[str]:
    """Every case but the one that is left out, as unittest takes them."""
    lists = (
        f"import unittest, {_PROGRAM} as tests\n"
        "def cases(suite):\n"
        "    for one in suite:\n"
        "        yield from cases(one) if isinstance(one, unittest.TestSuite) else [one]\n"
        "suite = unittest.defaultTestLoader.loadTestsFromModule(tests)\n"
        "print(*(case.id() for case in cases(suite)), sep='\\n')\n"
    )
    done = subprocess.run(
        [str(ENVIRONMENT.python), "-c", lists],
        env=_environment(),
        cwd=ENVIRONMENT.folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return [name for name in done.stdout.split() if not name.endswith(f".{_LEFT_OUT}")]


def _environment() -> dict[str, str]:
    """With the programs of integrations beside what the tests are given."""
    return undisturbed() | {"PYTHONPATH": str(ROOT / "integrations" / "programs")}


if __name__ == "__main__":
    sys.exit(main("zygote", run))
