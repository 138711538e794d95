"""Choose the test files that a change can affect: `./dev test --near [BASE]`.

Prints them, one on a line, and says on standard error in one sentence what was chosen and why. Changed is
what differs from BASE (HEAD unless told otherwise), with what git does not know yet. A test file is near when
something that changed can be reached from it: see dependence.py. What lies in tests/ground is always near.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dependence import Checkout, is_test

ROOT = Path(__file__).resolve().parent.parent
ALWAYS = "tests/ground/"
FOR_ALL = frozenset({"pyproject.toml", "tests/conftest.py"})
"""What every test is run with."""


class NoAnswerError(Exception):
    """Git could not say what changed."""


@dataclass(frozen=True)
class Choice:
    """The test files to run, and the sentence that says why."""

    tests: tuple[str, ...]
    reason: str


def changed(root: Path, base: str) -> frozenset[str]:
    """The files that differ from a commit, new and deleted ones included."""
    differing = _git(root, "diff", "--name-only", "--no-renames", "-z", base, "--")
    return frozenset(differing + _git(root, "ls-files", "--others", "--exclude-standard", "-z"))


def _git(root: Path, *arguments: str) -> list[str]:
    command = ["git", "-C", str(root), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise NoAnswerError(f"git does not run: {error}") from error
    if done.returncode:
        raise NoAnswerError(done.stderr.strip().splitlines()[0])
    return [name for name in done.stdout.split("\0") if name]


def choose(root: Path, changes: Iterable[str]) -> Choice:
    """The tests near to some files; no tests stand for all."""
    changes = frozenset(changes)
    gone = frozenset(path for path in changes if not (root / path).exists())
    try:
        return choose_in(Checkout(root, gone), changes)
    except SyntaxError as error:
        return Choice((), f"all tests, because {error.filename} cannot be read: {error.msg}")


def choose_in(checkout: Checkout, changes: frozenset[str]) -> Choice:
    """Choose in a checkout that has been read."""
    tests = sorted(path for path in checkout.files if is_test(path))
    if common := sorted(changes & FOR_ALL):
        return Choice((), f"all tests, because every test runs with {common[0]}")
    wanted = {path: {path} | _standing_for(checkout, path) for path in sorted(changes)}
    near: dict[str, str] = {}
    for test in tests:
        reached = checkout.reached(test, *_fixtures(checkout, test))
        for path, stand_ins in wanted.items():
            if not stand_ins.isdisjoint(reached):
                near.setdefault(test, path)
    chosen = tuple(test for test in tests if test in near or test.startswith(ALWAYS))
    if len(chosen) == len(tests):
        return Choice((), f"all {len(tests)} test files, because all can be affected by {_listed(changes)}")
    return Choice(chosen, _sentence(changes, near, chosen, tests))


def _fixtures(checkout: Checkout, test: str) -> list[str]:
    """The conftest.py files above a test."""
    folders = test.split("/")[:-1]
    above = ("/".join([*folders[:length], "conftest.py"]) for length in range(1, len(folders) + 1))
    return [path for path in above if path in checkout.files]


def _standing_for(checkout: Checkout, path: str) -> set[str]:
    """Return the files that read this one without importing it: those naming it, its folder or a pattern."""
    if path.endswith(".py") and path.startswith(("src/", "tests/")):
        return set()
    return checkout.mentions(path)


def _sentence(
    changes: frozenset[str], near: dict[str, str], chosen: Sequence[str], tests: Sequence[str]
) -> str:
    count = f"{len(chosen)} of {len(tests)} test files"
    if not changes:
        return f"{count}: nothing changed, so only {ALWAYS}"
    if not near:
        return f"{count}: only {ALWAYS}, because no test depends on {_listed(changes)}"
    first = next(iter(near))
    return f"{count}: {ALWAYS} and what depends on {_listed(changes)}, as {first} does on {near[first]}"


def _listed(changes: Iterable[str]) -> str:
    names = sorted(changes)
    return names[0] if len(names) == 1 else f"{len(names)} changed files"


def main() -> int:
    """Print the test files near to a change."""
    parser = argparse.ArgumentParser(description="Print the test files that a change can affect.")
    parser.add_argument("base", nargs="?", default="HEAD", metavar="BASE", help="a commit; HEAD unless given")
    parser.add_argument(
        "--changed", nargs="+", metavar="PATH", help="take these files as changed; git is not asked"
    )
    arguments = parser.parse_args()
    try:
        changes = frozenset(arguments.changed or changed(ROOT, arguments.base))
    except NoAnswerError as error:
        print(f"near: cannot tell what changed since {arguments.base}: {error}", file=sys.stderr)
        return 2
    choice = choose(ROOT, changes)
    print(f"near: {choice.reason}", file=sys.stderr)
    for test in choice.tests:
        print(test)
    return 0


if __name__ == "__main__":
    sys.exit(main())
