"""`--coldfork-exact`: every call is watched while tests and fixtures run, and at no other time."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager

import pytest

from coldfork.plugins.pytest_plugin.watch import Watching


class Exact:
    """The hooks around what users wrote; what pytest does in between would cost more than all of it."""

    def __init__(self, watching: Watching) -> None:
        self._watching = watching
        watching.look_closely(False)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_fixture_setup(self) -> Generator[None, object, object]:
        """Watch the body of a fixture."""
        with self._closely():
            return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self) -> Generator[None, object, object]:
        """Watch the body of a test."""
        with self._closely():
            return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_teardown(self) -> Generator[None, object, object]:
        """Watch what fixtures do behind their yield."""
        with self._closely():
            return (yield)

    @contextmanager
    def _closely(self) -> Iterator[None]:
        self._watching.look_closely(True)
        try:
            yield
        finally:
            self._watching.look_closely(False)
