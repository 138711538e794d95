"""The virtual device of a test run, in its own process and in Python processes that tests start."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, MutableMapping

from coldfork.observe import bootstrap
from coldfork.observe.recording.events import decode

_OURS = (bootstrap.VARIABLE, bootstrap.VIRTUAL, "PYTHONPATH")


def install(wanted: str) -> None:
    """Give this process the requested virtual devices, as NAME or NAME:N."""
    from coldfork import virtual

    virtual.install(*virtual.parse(wanted))


def offer_to_children(wanted: str, environment: MutableMapping[str, str] = os.environ) -> Callable[[], None]:
    """Give the same devices to Python processes started later; return a function that undoes this.

    Otherwise a spawned worker would find a machine without its parent's device.
    """
    if bootstrap.VARIABLE in environment:
        # This process got its devices in the same way, or from `coldfork run`, and so passes them on already.
        return lambda: None
    before = {name: environment.get(name) for name in _OURS}
    settings = {"mode": "virtual", "follow": True, "device": f"virtual:{wanted}"}
    offered = bootstrap.environment(settings, {**environment, bootstrap.VIRTUAL: wanted})
    environment.update({name: offered[name] for name in _OURS})

    def undo() -> None:
        for name, value in before.items():
            if environment.get(name) != offered[name]:
                continue  # other code has changed the variable since
            if value is None:
                del environment[name]
            else:
                environment[name] = value

    return undo


def plain(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without the variables that `offer_to_children` sets."""
    left = {name: value for name, value in environment.items() if name not in _OURS[:2]}
    settings = environment.get(bootstrap.VARIABLE)
    if settings is not None and left.get("PYTHONPATH", "").startswith(bootstrap.STARTUP):
        inherited = decode(settings).get("pythonpath")
        del left["PYTHONPATH"]
        if inherited:
            left["PYTHONPATH"] = inherited
    return left
