"""Which of the checked modules are followed as programs."""

from __future__ import annotations

from collections.abc import Iterable

from coldfork.source.files.started import imported, started
from coldfork.source.program.program import Program


def programs(program: Program, checked: Iterable[str]) -> list[str]:
    """The checked modules with a part that runs only where they are started, and what commands call.

    Without a word that starts a process in all of the checked code there is nothing that running them would
    show, and they are spared.
    """
    outlines = {name: module.outline for name in checked if (module := program.module(name)) is not None}
    if not any(outline.starts_processes for outline in outlines.values()):
        return []
    named = [name for name, outline in outlines.items() if outline.is_program and outline.error is None]
    others = outlines.keys() - set(named)
    return [*map(started, named), *(command for command in program.commands if imported(command) in others)]
