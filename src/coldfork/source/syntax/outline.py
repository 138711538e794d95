"""The few facts about a file that are needed for every module, so that the full summary can stay packed.

Each process follows only part of a large tree, and most modules are followed once and never needed again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Block, Class, Node, last_name
from coldfork.source.syntax.scopes import ImportRecord
from coldfork.source.syntax.summary import Summary
from coldfork.source.syntax.variables import VISIBILITY, sets_variables

#: Every file that starts processes through a known function contains one of these texts.
_STARTING = (b"multiprocessing", b"ProcessPool", b"DataLoader")
#: Functions that start processes, or decide how they start.
_CALLED = (b"Process", b"Pool", b"ProcessPoolExecutor", b"set_start_method", b"get_context")
_ANY_CALLED = b"|".join(_CALLED)
_VARIABLES = tuple(name.encode() for name in sorted(VISIBILITY))
#: Every file with a line about processes contains one of these texts, which are quick to search for.
_ABOUT_PROCESSES = (b"DataLoader", *_VARIABLES, *(name + end for name in _CALLED for end in (b"(", b" ")))
#: Matches text in lines that start processes, or that decide how they start or which devices they see.
_DECIDING = re.compile(
    rb"\b(?:%s)\s*\(|DataLoader\s*[(,)]|[\"'](?:%s)[\"']" % (_ANY_CALLED, b"|".join(_VARIABLES))
)
#: Matches an import that gives one of these functions another name.
_RENAMING = re.compile(rb"\b(?:%s) as (\w+)" % _ANY_CALLED)
#: Functions that return whether a framework has made a context.
_ASKING = (b"is_initialized", b"_is_in_bad_fork")
_ANY_ASKING = re.compile(b"|".join(_ASKING))
#: Matches text in lines that choose the start method.
_CHOOSING = re.compile(rb"[\"'](?:fork|forkserver|spawn)[\"']|get_context|(?i:start_method)|MULTIPROC_METHOD")

#: Matches a call that passes a function to a command line parser, which will call it for some command.
_HANDING = re.compile(rb"\bset_defaults\(\s*\w+\s*=\s*(\w+)\s*[,)]|\b(?:Fire|app\.run)\(\s*(\w+)\s*[,)]")
#: Matches the definition of a function that receives a parsed command line.
_GIVEN = re.compile(rb"^(?:async )?def (\w+)\([^)]*:\s*(?:argparse\.)?Namespace\b", re.MULTILINE)
#: The last part of the name of decorators that make a function a command.
_COMMAND = "command"


class Outline(NamedTuple):
    """The few facts about a file that are available without unpacking its summary; they are plain data."""

    imports: tuple[ImportRecord, ...]
    bases: tuple[str, ...]
    """The bases of its top-level classes: the last part of each name."""
    needs: tuple[str, ...]
    """The top-level packages that the statements of its body import unconditionally."""
    ignores: tuple[tuple[Any, ...], ...]
    error: tuple[str, int, int] | None
    sets_variables: bool
    """Whether a plain statement of its body sets an environment variable."""
    is_program: bool
    """Whether the file has code that runs only if it is run as a program."""
    starts_processes: bool
    """Whether the file mentions functions that start processes."""
    deciding: tuple[int, ...]
    """The lines that start processes, or that decide how they start or which devices they see."""
    asking: tuple[int, ...]
    """The lines that ask whether a framework has made a context, if the file names a start method."""
    choosing: tuple[int, ...]
    """The lines that name a start method, if the file asks whether a framework has made a context."""
    commands: tuple[str, ...]
    """The file's functions that a library calls for some command lines."""
    given: tuple[str, ...]
    """The file's functions that receive a parsed command line."""


def outline_of(summary: Summary, source: bytes) -> Outline:
    """Return the outline of a file."""
    asking = tuple(_lines(_ANY_ASKING, source)) if any(word in source for word in _ASKING) else ()
    choosing = tuple(_lines(_CHOOSING, source)) if asking else ()
    return Outline(
        summary.imports,
        tuple(dict.fromkeys([name for name, _ in bases_of(summary)])),
        tuple(dict.fromkeys(_imported(summary.body))),
        summary.ignores,
        summary.error,
        sets_variables(summary.body),
        any(node[0] == nodes.MAIN for node in summary.body),
        any(word in source for word in _STARTING),
        tuple(_deciding(source)),
        asking if choosing else (),
        choosing if asking else (),
        tuple(sorted(set(_commands(summary, source)))),
        _given(source),
    )


def _commands(summary: Summary, source: bytes) -> Iterator[str]:
    """Yield a file's functions that are commands: those with a command decorator, or passed to a parser."""
    if not any(word in source for word in (b"command", b"set_defaults(", b"Fire(", b"app.run(")):
        return
    handed = {(found[1] or found[2]).decode() for found in _HANDING.finditer(source)}
    for name, entries in summary.binds.items():
        for how, payload, _line, _guards in entries:
            if how != nodes.BY_DEF:
                continue
            decorators = [nodes.called(node) for node, _ in nodes.decorators_of(payload)]
            if name in handed or any(last_name(node) == _COMMAND for node in decorators):
                yield name


def _given(source: bytes) -> tuple[str, ...]:
    """Return the functions that receive a parsed command line."""
    if b"Namespace" not in source:
        return ()
    return tuple(sorted({found[1].decode() for found in _GIVEN.finditer(source)}))


def _deciding(source: bytes) -> Iterator[int]:
    """Yield the lines of a file that start processes or decide how, also under other names."""
    if not any(word in source for word in _ABOUT_PROCESSES):
        return
    yield from _lines(_DECIDING, source)
    for found in _RENAMING.finditer(source):
        yield from _lines(re.compile(rb"\b%s\s*\(" % found[1]), source)


def _lines(words: re.Pattern[bytes], source: bytes) -> Iterator[int]:
    line, end = 1, 0
    for found in words.finditer(source):
        line += source.count(b"\n", end, found.start())
        end = found.start()
        yield line


def bases_of(summary: Summary) -> Iterator[tuple[str, Node]]:
    """Yield the bases of the top-level classes of a file, each with the CLASS node."""
    for entries in summary.binds.values():
        for how, payload, _line, _guards in entries:
            if how != nodes.BY_CLASS:
                continue
            for base in Class._make(payload).bases:
                last = last_name(base)
                if last is not None:
                    yield last, payload


def _imported(body: Block) -> Iterator[str]:
    """Yield the top-level packages imported by statements of a module's body."""
    for node in body:
        if node[0] == nodes.IMPORT:
            _, _, _, names = node
            yield from (name.partition(".")[0] for name, _ in names)
        elif node[0] == nodes.FROM:
            _, _, _, target, level, _ = node
            if target and not level:
                yield target.partition(".")[0]
