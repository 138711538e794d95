"""The parts of an answer other than effects: unreadable or unfinished files, missing packages, ignore
comments.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable
from math import inf
from pathlib import Path
from typing import NamedTuple

from coldfork.model.observations import FAILED, IgnoreComment, Unfinished, Unreadable
from coldfork.source.files.discovery import Found
from coldfork.source.files.reading import TOO_LARGE, CannotRead, Reader, Stamp
from coldfork.source.files.started import imported, is_test
from coldfork.source.program.keeping import Store
from coldfork.source.program.program import Program
from coldfork.source.reach.quotations import Quotations
from coldfork.source.reach.results import Results
from coldfork.source.syntax.syntax_errors import TOO_DEEP, Trouble, trouble_in

_LARGEST = 256_000_000
"""Larger files are not searched for data at all."""
#: Tokens of a file that contains only data, matched from the first byte to the last: names may only be
#: assigned to.
_DATA = re.compile(
    rb"""(?:
        [ \t\r\n\f]++ | \\\r?\n | \#[^\n]*+
      | [bBuUrR]{0,2}(?:'{3}(?:[^\\']|\\.|'(?!''))*+'{3} | "{3}(?:[^\\"]|\\.|"(?!""))*+"{3})
      | [bBuUrR]{0,2}(?:'(?:[^\\'\n]|\\.)*+' | "(?:[^\\"\n]|\\.)*+")
      | \.?[0-9][0-9a-zA-Z_.]*+(?:(?<=[eE])[-+][0-9_]++[jJ]?)?
      | (?:True|False|None)\b
      | (?:(?<=\n)|(?<=;)|\A)[A-Za-z_][A-Za-z0-9_]*+(?=[ \t]*+=[^=])
      | [\[\]{}(),:;=+\-]
    )*+\Z""",
    re.VERBOSE | re.DOTALL,
)


def holds_only_data(raw: bytes) -> bool:
    """Return True for a source that consists of literals and assignments of literals to names.

    It reads no name and calls nothing, so nothing in it could wake a device.
    """
    if any(b"coding" in line for line in raw[:400].split(b"\n")[:2]):
        return False  # in another encoding, bytes have other meanings
    return _DATA.match(raw.removeprefix(b"\xef\xbb\xbf")) is not None


def is_table(path: str) -> bool:
    """Return whether a file that is too large to be analysed contains only data."""
    try:
        with open(path, "rb") as file:
            raw = file.read(_LARGEST + 1)
    except OSError:
        return False
    return len(raw) <= _LARGEST and holds_only_data(raw)


class Remarks:
    """Collects what an analysis could not read or follow."""

    def __init__(self, program: Program, results: Results, found: Found, quotations: Quotations) -> None:
        self._program = program
        self._results = results.by_name
        self._programs = results.programs
        self._broken = results.broken
        self._found = found
        self._quotations = quotations

    def unreadable(self) -> tuple[Unreadable, ...]:
        """Return the files that could not be analysed, with the reasons."""
        found = []
        for name in self._results:
            state = self._program.module(name)
            if state is not None and state.outline.error is not None:
                reason, line, column = state.outline.error
                if reason.startswith(FAILED):
                    continue
                own, too_large = name in self._found.files, reason == TOO_LARGE
                if own and self._is_data(self._found.files[name], reason):
                    continue
                invalid = not too_large and reason != TOO_DEEP
                found.append(self._unreadable(name, line, column, reason, too_large, invalid))
        for name, (reason, line, column) in self._broken.items():
            found.append(self._unreadable(name, line, column, reason, False, True))
        found += [Unreadable(path, 1, 0, reason) for path, reason in self._found.broken]
        return tuple(sorted(found, key=lambda u: u.path))

    def _unreadable(
        self, name: str, line: int, column: int, reason: str, too_large: bool, invalid: bool
    ) -> Unreadable:
        path, own = self._quotations.path_of(name), name in self._found.files
        text = self._quotations.line(name, line) if own else ""
        return Unreadable(path, line, column, reason, own, too_large, invalid, text)

    def _is_data(self, path: str, reason: str) -> bool:
        """Return whether a file that is too large to be followed holds only data, which wakes no device."""
        if reason == TOO_DEEP:
            return holds_only_data(self._program.read_source(path))
        return reason == TOO_LARGE and is_table(path)

    def unfinished(self) -> tuple[Unfinished, ...]:
        """Return the modules that were only partly followed."""
        found: dict[object, Unfinished] = {}
        for followed, result in (*self._results.items(), *self._programs.items()):
            name = imported(followed)
            own = name in self._found.files
            for cut in result.cuts:
                key = (cut.module, cut.line, cut.fault) if cut.fault else name
                path, what = self._quotations.path_of(cut.module), "fault" if cut.fault else "budget"
                one = Unfinished(name, cut.function, path, cut.line, what, own, cut.fault)
                if key not in found or (own and not found[key].own):
                    found[key] = one
            state = self._program.module(name)
            error = state.outline.error if state is not None else None
            if error is not None and error[0].startswith(FAILED):
                fault = error[0].removeprefix(FAILED)
                found[name] = Unfinished(name, name, self._quotations.path_of(name), 1, "fault", own, fault)
        return tuple(sorted(found.values(), key=lambda u: (u.module, u.line)))

    def ignores(self) -> tuple[IgnoreComment, ...]:
        """Return the ignore comments of the checked code."""
        found = []
        for name in self._found.files:
            if name not in self._results:
                continue
            state = self._program.module(name)
            for line, column, rules, reason, covers in state.outline.ignores if state is not None else ():
                path = self._quotations.path_of(name)
                found.append(IgnoreComment(path, line, column, rules, reason, covers))
        return tuple(found)

    def absent(self) -> tuple[str, ...]:
        """Return the packages that the modules need and that were not found, the most imported first.

        Imports in a `try`, under an `if` or in a function do not count, because they may be optional; imports
        by tests do not count, because they do not concern users.
        """
        program = self._program
        counts: Counter[str] = Counter()
        for name in self._found.files:
            module = program.module(name)
            if module is not None and not is_test(name, self._quotations.path_of(name)):
                beside = program.finder.beside.get(name, ())
                counts.update(package for package in module.outline.needs if package not in beside)
        return tuple(
            package
            for package, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
            if package not in sys.stdlib_module_names and program.finder.find(package) is None
        )


_DEFINITION = b"def"
"""A file without this word was read completely when its imports were followed."""
_FIRST = 4_000_000
"""The number of bytes of source to read if no earlier run has read any."""
_PORTION = 1_000_000
"""The number of bytes of source to read in each later run of a command."""
_MORSEL = 60_000
"""The number of bytes of source to read for each request in a session, while a user waits."""

#: For each path, the stamp of the file when it was read, and its syntax error if it has one.
Read = dict[str, tuple[Stamp, Trouble | None]]


class Told(NamedTuple):
    """The files with syntax errors, and the number of files that are still to be read."""

    troubles: dict[str, Trouble]
    """By path, the reason why a file does not parse."""
    left: int
    """The number of files that have not been read to their end."""


class WholeFiles:
    """Checks files as a whole for syntax errors, and remembers which files earlier runs have checked.

    Following imports skips the bodies of functions that are not called. Reading these as well takes half as
    long as everything else together, so it is done only once for each file, and for large trees in portions,
    the most recently changed file first.
    """

    def __init__(self, store: Store, pack: Path | None) -> None:
        self._store = store
        self._pack = pack
        self._before: Read = store.load(pack).get("read", {}) if pack is not None else {}

    def read(self, paths: Iterable[str], reader: Reader, *, all_of_them: bool) -> Told:
        """Read the next portion of these files, and return the known syntax errors of all of them."""
        known: Read = {}
        due: list[tuple[int, str, Stamp]] = []
        for path in paths:
            stamp = reader.stamp(path)
            held = self._before.get(path)
            if stamp is not None and held is not None and tuple(held[0]) == stamp:
                known[path] = held
            elif stamp is not None:
                due.append((-stamp[1], path, stamp))
        left = len(due)
        room = inf if all_of_them else self._room
        for _, path, stamp in sorted(due):
            if room <= 0:
                break
            known[path] = stamp, _trouble(path, reader)
            room -= stamp[0]
            left -= 1
        if self._pack is not None and len(due) > left:
            self._store.save(self._pack, {"read": self._before | known})
        return Told({path: trouble for path, (_, trouble) in known.items() if trouble is not None}, left)

    @property
    def _room(self) -> float:
        """The number of bytes of source that may be read now."""
        if not self._before:
            return _FIRST
        return _PORTION if self._store.ready is None else _MORSEL


def with_troubles(
    unreadable: tuple[Unreadable, ...], troubles: dict[str, Trouble], found: Found, program: Program
) -> tuple[Unreadable, ...]:
    """Return the unreadable files, and those with a syntax error in a function that nothing calls."""
    if not troubles:
        return unreadable
    quotations = Quotations(program, found.display)
    told = {one.path: one for one in unreadable}
    for name, path in found.files.items():
        if path in troubles:
            reason, line, column = troubles[path]
            shown = quotations.path_of(name)
            whole = Unreadable(shown, line, column, reason, invalid=True, text=quotations.line(name, line))
            # The line of the error is more precise than the line of the function, which following an import
            # reports.
            if shown not in told or told[shown].line <= line:
                told[shown] = whole
    return tuple(sorted(told.values(), key=lambda one: one.path))


def _trouble(path: str, reader: Reader) -> Trouble | None:
    try:
        source = reader.read_source(path)
    except CannotRead:
        return None  # reported when the import is followed
    return trouble_in(source) if _DEFINITION in source else None
