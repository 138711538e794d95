"""Whether a package that was not found is there: where that is presumed, and where it is a condition.

It is there wherever the module that asks, or a package around it, imports it come what may: without it none
of them would run. It is presumed to be there where the checked project requires it, and that is said. Of any
other package nobody knows, however it is asked for.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.trace import Failure
from coldfork.source.files.site_packages import normalised
from coldfork.source.program.module import Module
from coldfork.source.program.package_environment import with_packages
from coldfork.source.values.conditions import Condition, presumed_together


class Presence(NamedTuple):
    """Whether a package that is asked for is there, as far as is known."""

    sure: bool
    required: bool
    """True where the project requires it."""


def presence_of(ev: Interpreter, module: Module, name: str) -> Presence:
    """Whether a module may count on a package, be it named itself or by a module inside it."""
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names or ev.program.exists(name):
        return Presence(True, False)
    if ev.program.exists(top):
        return Presence(False, False)  # it is here, and has no such module
    if _is_needed(ev, module, top):
        return Presence(True, False)
    return Presence(False, normalised(top) in ev.program.project.required)


def installed(package: str) -> Condition:
    """The condition that a package is there."""
    return Condition(words=f"{package} is installed", means=("installed", package))


def missing(package: str, required: bool) -> Condition:
    """The condition that a package is not there."""
    presumes = f"{package} is installed" if required else ""
    words = f"{package} is not installed"
    return Condition(words=words, presumes=presumes, means=("not", ("installed", package)))


def require(ev: Interpreter, frame: Frame, fails: Condition, kind: str) -> None:
    """Note that something may fail here which needs a package, and what holds where it does not fail."""
    even = not fails.presumes
    ev.record_failure(Failure(fails, even, kind, frozenset(frame.must)))
    if not frame.tries:
        return  # the caller says what it makes of it
    if fails.presumes:
        frame.presumed = presumed_together(frame.presumed, (fails.presumes,))
    elif fails.means is not None:
        _, (_, package) = fails.means
        frame.conditions = (*frame.conditions, installed(package))


def _is_needed(ev: Interpreter, module: Module, top: str) -> bool:
    """Whether the module, or a package around it, imports a package come what may."""
    if top in module.outline.needs:
        return True
    above = map(ev.program.module, reversed(with_packages(module.name)[:-1]))
    return any(package is not None and top in package.outline.needs for package in above)
