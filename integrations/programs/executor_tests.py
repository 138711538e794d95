"""Runs cases of CPython's tests and writes how each has ended: `... FILE PATTERN LEFT_OUT MODULE...`

FILE gets an object by case: "ok", "skipped: WHY", "left out" or what went wrong; LEFT_OUT is a JSON list of
parts of names.
"""

from __future__ import annotations

import json
import sys
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Ends(unittest.TestResult):
    """How each case has ended."""

    def __init__(self) -> None:
        super().__init__()
        self.ends: dict[str, str] = {}

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self.ends[_name(test)] = "ok"
        print(_name(test), file=sys.__stderr__, flush=True)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self.ends[_name(test)] = f"skipped: {reason}"

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        self.ends[_name(test)] = f"FAILS: {self._exc_info_to_string(err, test)}"  # type: ignore[attr-defined]

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        self.addError(test, err)

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:
        if err is not None:
            self.addError(test, err)


def cases(suite: Any) -> Iterator[unittest.TestCase]:
    """Every case of a suite."""
    for each in suite:
        if isinstance(each, unittest.TestCase):
            yield each
        else:
            yield from cases(each)


def _name(test: unittest.TestCase) -> str:
    return f"{type(test).__name__}.{getattr(test, '_testMethodName', test)}"


def main(file: str, pattern: str, left_out: list[str], modules: list[str]) -> None:
    """Run them."""
    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{pattern}*"]
    result = Ends()
    suite = unittest.TestSuite()
    for case in cases(loader.loadTestsFromNames(modules)):
        if any(part in f"{_name(case)}." for part in left_out):
            result.ends[_name(case)] = "left out"
        else:
            suite.addTest(case)
    suite.run(result)
    Path(file).write_text(json.dumps(result.ends), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), sys.argv[4:])
