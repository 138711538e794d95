"""What the project of the checked code says in its own files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from coldfork.model.faults import Faults
from coldfork.source.files.requirements import required
from coldfork.source.program.console_scripts import console_scripts
from coldfork.source.program.supported_pythons import defaults_differ


class Project(NamedTuple):
    """A project, by its own files."""

    required: frozenset[str] = frozenset()
    """Normalised names of the distributions that it requires."""
    commands: tuple[str, ...] = ()
    """What its commands call."""
    defaults_differ: bool = False
    """Whether the Pythons that it supports start processes by different methods where none is stated."""


def read_project(roots: Iterable[str], tops: frozenset[str], faults: Faults) -> Project:
    """The project of some packages in some folders; where coldfork fails at a file, as if it said nothing."""
    folders = tuple(roots)
    return Project(
        faults.attempt(lambda: required(folders, tops), frozenset[str]()),
        faults.attempt(lambda: console_scripts(folders, tops), ()),
        faults.attempt(lambda: defaults_differ(folders, tops), False),
    )
