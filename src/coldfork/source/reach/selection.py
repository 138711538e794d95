"""Selects the checked modules to follow as programs, and those whose functions are called."""

from __future__ import annotations

from collections.abc import Iterable

from coldfork.source.files.started import command, imported, is_test, offering, started
from coldfork.source.program.module import Module, defined, holding
from coldfork.source.program.program import Program


def programs(program: Program, checked: Iterable[str], again: bool = False) -> list[str]:
    """Return the checked modules to follow as programs: those with a main guard, and those that commands
    call.

    If no checked code mentions processes, running the programs would show nothing, and they are skipped.
    Functions that mention processes are also called on their own, but not `again` for another machine,
    because hardly any of them depends on the machine.
    """
    modules = {name: module for name in checked if (module := program.module(name)) is not None}
    outlines = {name: module.outline for name, module in modules.items()}
    called = [
        offering(name)
        for name, outline in outlines.items()
        if not again and (outline.deciding or outline.asking) and outline.error is None
        if not is_test(name, modules[name].path)
    ]
    if not any(outline.starts_processes or outline.deciding for outline in outlines.values()):
        return called
    named = [name for name, outline in outlines.items() if outline.is_program and outline.error is None]
    others = outlines.keys() - set(named)
    installed = [each for each in program.project.commands if imported(each) in others]
    handed = [
        command(name, function)
        for name, outline in outlines.items()
        if outline.error is None
        for function in _commands(modules[name])
        if not is_test(name, modules[name].path)
    ]
    return [*map(started, named), *dict.fromkeys([*installed, *handed]), *called]


def _commands(module: Module) -> list[str]:
    """Return a module's commands; a function that merely receives a command line counts if it mentions
    processes.
    """
    outline = module.outline
    names = list(outline.commands)
    if outline.given and outline.deciding:
        held = {one.name for one in holding(defined(module), outline.deciding) if one.owner is None}
        names += sorted(held.intersection(outline.given).difference(names))
    return names
