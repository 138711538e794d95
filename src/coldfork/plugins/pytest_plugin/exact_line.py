"""Finds the line of a wake that was seen only as "while this module was imported"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from coldfork.launch.probe.probe import ProbeRequest, probe
from coldfork.launch.probe.trial import ProbeSetup
from coldfork.model.errors import ColdforkError
from coldfork.model.probes import Probing
from coldfork.model.states import Frame, ImportSite, Waker
from coldfork.plugins.pytest_plugin.sightings import SeenWake

SECONDS = 60.0
"""The time that the guilty module is given, once more, in an interpreter of its own."""


def with_line(wake: SeenWake, probe_setup: Callable[[], ProbeSetup]) -> SeenWake:
    """The wake with the line in the guilty module, if importing that alone wakes the same device again."""
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
    """The imports as they were here, the line and the calls as they were there."""
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
