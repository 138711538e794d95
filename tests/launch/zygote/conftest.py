"""A server that the tests of this folder share, and what ends by itself is waited for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator

import pytest

if sys.platform != "linux":
    pytest.skip("a zygote needs Linux", allow_module_level=True)

from coldfork.launch.server.zygote.handle import Zygote, zygote
from coldfork.launch.server.zygote.processes import ZygoteContext
from tests.launch.pool.faults.leftovers import not_ended

LIMIT = 240.0
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
    return not_ended
