"""`--coldfork-exact`: every call is watched while tests and fixtures run, and at no other time."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from coldfork.plugins.pytest_plugin.watch import Watching


class Exact:
    """The hooks around what users wrote; what pytest does in between would cost more than all of it."""

    def __init__(self, watching: Watching) -> None:
        self._watching = watching
        watching.look_closely(False)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self) -> Generator[None, object, object]:
        """Watch the body of a test, that of a fixture, and what fixtures do behind their yield."""
        self._watching.look_closely(True)
        try:
            return (yield)
        finally:
            self._watching.look_closely(False)

    pytest_fixture_setup = pytest_runtest_call
    pytest_runtest_teardown = pytest_runtest_call
