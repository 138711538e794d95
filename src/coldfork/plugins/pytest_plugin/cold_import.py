"""Imports in fresh interpreters, for the fixture `cold_import` and to find the missing line of a wake."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from coldfork import __version__
from coldfork.launch.probe.comparison import device_before
from coldfork.launch.probe.probe import ProbeRequest, probe
from coldfork.launch.probe.trial import ProbeSetup
from coldfork.model.errors import ColdforkError
from coldfork.model.probes import ProbeStatus, Probing
from coldfork.model.states import Frame, ImportSite, Waker
from coldfork.plugins.pytest_plugin.sightings import SeenWake
from coldfork.plugins.pytest_plugin.virtual_device import plain
from coldfork.report.probes.text import account
from coldfork.report.shared.options import Options
from coldfork.virtual import parse

STAND_IN = "h100"
"""The virtual device if there is neither a real nor a chosen one; without it nothing could wake."""


class ColdImport:
    """Asserts that importing modules wakes no device."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def __call__(self, *modules: str, virtual: str | None = None, timeout: float = 120.0) -> None:
        """Import each module in a fresh interpreter; fail the test if one wakes a device or cannot
        be judged.
        """
        __tracebackhide__ = True
        try:
            if virtual is not None:
                parse(virtual)
            probing = probe(ProbeRequest(modules, probe_setup(self._config, virtual, timeout)))
        except ColdforkError as error:
            pytest.fail(f"cold_import: {error}", pytrace=False)
        if probing.status is not ProbeStatus.COLD:
            pytest.fail(_explained(probing, self._config.invocation_params.dir), pytrace=False)


def probe_setup(config: pytest.Config, virtual: str | None, timeout: float) -> ProbeSetup:
    """Return the setup for imports in this test run: its interpreter, its path and its virtual device."""
    wanted = virtual or config.getoption("coldfork_virtual") or config.getini("coldfork_virtual") or None
    if wanted is None and device_before(None) == "none":
        wanted = STAND_IN
    return ProbeSetup(
        python=sys.executable,
        virtual=wanted,
        timeout=timeout,
        before=_own_path(),
        base=plain(os.environ),
    )


def _own_path() -> tuple[str, ...]:
    """Return the folders on this process's path that a fresh interpreter would not have."""
    usual = {Path(folder).resolve() for folder in sysconfig.get_paths().values()}
    usual.add(Path(sysconfig.get_path("platstdlib"), "lib-dynload").resolve())
    folders = [Path(entry).absolute() for entry in sys.path]
    return tuple(str(folder) for folder in folders if folder.is_dir() and folder.resolve() not in usual)


def _explained(probing: Probing, folder: Path) -> str:
    def locate(path: str) -> str:
        file = Path(probing.files.get(path, path))
        return file.relative_to(folder).as_posix() if file.is_relative_to(folder) else str(file)

    options = Options(version=__version__, locate=locate)
    return "\n\n".join(
        account(module, probing, options)
        for module in probing.modules
        if module.status is not ProbeStatus.COLD
    )


SECONDS = 60.0
"""How long the waking module may take when it is imported again, in an interpreter of its own."""


def with_line(wake: SeenWake, probe_setup: Callable[[], ProbeSetup]) -> SeenWake:
    """Return the wake with its line, if importing only the waking module wakes the same device."""
    waker = wake.waker
    if not wake.imported or waker.line is not None or waker.module is None:
        return wake
    try:
        probing = probe(ProbeRequest((waker.module,), probe_setup(), jobs=1))
    except (ColdforkError, OSError):
        return wake
    (only,) = probing.modules
    found = only.waker
    same = found is not None and found.module == waker.module and only.accelerator == wake.accelerator
    if found is None or not same or found.line is None:
        return wake
    return replace(wake, waker=_joined(waker, found, probing))


def _joined(waker: Waker, found: Waker, probing: Probing) -> Waker:
    """Return a waker with the imports that were seen here, and the line and calls from the fresh
    interpreter.
    """
    path = probing.files.get(found.path or "", waker.path)
    *outer, last = waker.import_chain
    return replace(
        waker,
        path=path,
        line=found.line,
        function=found.function,
        call=found.call,
        import_chain=(*outer, ImportSite(last.module, path, found.line)),
        stack=tuple(
            Frame(probing.files.get(frame.path, frame.path), frame.line, frame.function)
            for frame in found.stack
        ),
    )
