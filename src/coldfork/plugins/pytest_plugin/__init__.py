"""The entry point for pytest: the plugin's options, marker and fixtures.

In an environment with coldfork, every run of pytest loads this module. The watch, the virtual device and the
messages are loaded only with `--coldfork`, with `--coldfork-virtual`, or if a fixture is used.
"""

from __future__ import annotations

import sys

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

MARKER = "wakes_device"
_WATCH = "coldfork"
_VIRTUAL = "coldfork_virtual"
_EXACT = "coldfork_exact"
_STRICT = "coldfork_strict"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, each also as an ini key."""
    group = parser.getgroup("coldfork", "accelerators that must stay cold (coldfork)")
    group.addoption(
        "--coldfork",
        action="store_true",
        dest=_WATCH,
        help="fail if collection, an import or an unmarked test wakes a device, or if a process forked "
        "while a device is awake touches it or is certain to break",
    )
    group.addoption(
        "--coldfork-virtual",
        metavar="NAME[:N]",
        dest=_VIRTUAL,
        help="give the tests this many virtual devices, for example h100:2",
    )
    group.addoption(
        "--coldfork-exact",
        action="store_true",
        dest=_EXACT,
        help="watch every call of the tests, to name the line that woke a device even where CUDA does not "
        "tell; slow",
    )
    group.addoption(
        "--coldfork-strict",
        action="store_true",
        dest=_STRICT,
        help="like --coldfork, but fail at every fork while a device is awake",
    )
    parser.addini(_WATCH, "as --coldfork", type="bool", default=False)
    parser.addini(_VIRTUAL, "as --coldfork-virtual", default="")
    parser.addini(_STRICT, "as --coldfork-strict", type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, so that tests may have it even if they are not watched."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(forks=False): this test may wake a device under --coldfork; with forks=True it may also "
        "fork while one is awake",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Begin to watch before the first conftest is imported, if an option requests it."""
    options = early_config.known_args_namespace
    virtual = options.coldfork_virtual or early_config.getini(_VIRTUAL) or None
    strict = options.coldfork_strict or bool(early_config.getini(_STRICT))
    watched = options.coldfork or options.coldfork_exact or strict or early_config.getini(_WATCH)
    if not watched and not virtual:
        return
    if sys.platform != "darwin" and not sys.platform.startswith("linux"):
        raise pytest.UsageError(
            f"--coldfork needs Linux or macOS, where processes fork; this is {sys.platform}"
        )
    from coldfork.plugins.pytest_plugin import session

    marker = MARKER if watched else None
    session.begin(early_config, virtual, marker, exact=options.coldfork_exact, strict=strict)


@pytest.fixture
def cold_import(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Import modules in fresh interpreters and fail if one wakes a device: `cold_import("engine.api")`.

    The device is that of --coldfork-virtual, otherwise the machine's own, or a virtual h100 if the machine
    has none. `virtual="a100:2"` chooses another one; `timeout` is in seconds for each module.
    """
    from coldfork.plugins.pytest_plugin.cold_import import ColdImport

    return ColdImport(request.config)


@pytest.fixture
def assert_replayable() -> Callable[..., None]:
    """Fail unless a forward function can be captured in a graph and replays what it computes eagerly.

    It is called as `assert_replayable(create_forward, descriptors, inputs=...)`, like the function in
    `coldfork.graphs`; it needs torch, but no device.
    """
    from coldfork.graphs import assert_replayable

    return assert_replayable
