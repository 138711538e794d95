"""Have the summaries of everything that may be imported ready, many files at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from coldfork.source.evaluation.objects.classes import base_names
from coldfork.source.program.loader import Loader
from coldfork.source.program.program import Program
from coldfork.source.reach.propagation import targets

Progress = Callable[[str, int, int], None]


def read_ahead(
    program: Program, loader: Loader, level: list[str], progress: Progress | None, known: Iterable[str] = ()
) -> list[str]:
    """Read modules and what they may import, level by level; the names of what was read.

    What the modules of `known` import is not looked at.
    """
    finder = program.finder
    seen = {*level, *known}
    names_read: list[str] = []
    while level:
        paths: list[str] = []
        for name in level:
            located = finder.find(name)
            if located is not None and located.path is not None:
                paths.append(located.path)
        loader.load_many(paths, progress)
        names_read += level
        following: dict[str, None] = {}
        for name in level:
            module = program.module(name)
            if module is None:
                continue
            for imported, depth, names in module.summary.imports:
                target = module.absolute(imported, depth)
                if target not in following:
                    following.update(dict.fromkeys(targets(target, "")) if target else {})
                located = finder.find(target) if names and target else None
                if names is not None and located is not None and located.folders:
                    following.update((f"{target}.{member}", None) for member in names)
        level = [name for name in following if name not in seen and has_source(program, name)]
        seen.update(following)
    return names_read


def has_source(program: Program, name: str) -> bool:
    """True when the Python source of a module is at hand."""
    located = program.finder.find(name)
    return located is not None and located.path is not None


def record_bases(program: Program) -> None:
    """Have the program know what the classes of every module that was read derive from."""
    derived = program.derived
    for module in program.loaded():
        if module.name not in derived:
            derived[module.name] = base_names(module.summary)
