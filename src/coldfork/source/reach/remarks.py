"""The parts of an answer other than effects: unreadable or unfinished files, missing packages, ignore
comments.
"""

from __future__ import annotations

import re
import sys
from collections import Counter

from coldfork.model.observations import FAILED, IgnoreComment, Unfinished, Unreadable
from coldfork.source.files.discovery import Found
from coldfork.source.files.reading import TOO_LARGE
from coldfork.source.files.started import imported, is_test
from coldfork.source.program.program import Program
from coldfork.source.reach.quotations import Quotations
from coldfork.source.reach.results import Results
from coldfork.source.syntax.syntax_errors import TOO_DEEP

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
