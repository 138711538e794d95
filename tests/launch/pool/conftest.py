"""A pool that the tests of a file share, and another process that unpickles what is sent to it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

if sys.platform != "linux":
    pytest.skip("a pool needs Linux", allow_module_level=True)

from coldfork.launch.pool.pool import WorkerPool
from tests.launch.pool.elsewhere import Elsewhere, Notebook

LIMIT = 60.0
"""In seconds: no test waits so long unless something is broken."""


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    """A pool of two whose workers the tests may end."""
    with WorkerPool(2) as made:
        yield made.wait(timeout=LIMIT)


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Elsewhere]:
    """One other process for the tests of a file: what one call leaves behind must not disturb the next."""
    process = Elsewhere()
    yield process
    process.close()


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Notebook:
    """A main module whose functions no other process can import."""
    made = Notebook()
    monkeypatch.setitem(sys.modules, "__main__", made.module)
    return made
