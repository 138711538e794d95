"""A server that the tests of this folder share, and what ends by itself is waited for."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable, Iterable, Iterator

import pytest

if sys.platform != "linux":
    pytest.skip("a zygote needs Linux", allow_module_level=True)

from coldfork.launch.zygote.handle import Zygote, zygote
from coldfork.launch.zygote.processes import ZygoteContext

LIMIT = 60.0
"""In seconds: no test waits so long unless something is broken."""


@pytest.fixture(scope="module")
def served() -> Iterator[Zygote]:
    """A server with nothing preloaded but one module that is easy to recognise."""
    with zygote(["http.client"]) as made:
        yield made


@pytest.fixture
def context(served: Zygote) -> ZygoteContext:
    return served.context


@pytest.fixture
def ended() -> Callable[[Iterable[int]], list[int]]:
    """Wait for processes of anybody to end: `ended(pids)` are those that have not."""

    def wait(pids: Iterable[int]) -> list[int]:
        left = []
        for pid in pids:
            try:
                process = os.pidfd_open(pid)
            except ProcessLookupError:
                continue
            try:
                if not select.select([process], [], [], LIMIT)[0]:
                    left.append(pid)
            finally:
                os.close(process)
        return left

    return wait
