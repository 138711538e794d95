"""CPython's own tests of multiprocessing, for processes that a zygote forks.

Run with unittest, under this very name: workers import it under another one, and find no tests in it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import coldfork

if __name__ == "zygote_multiprocessing":
    tests: Any = import_module("test._test_multiprocessing")
    coldfork.zygote(["test._test_multiprocessing"])
    tests.install_tests_in_module_dict(globals(), "zygote")
