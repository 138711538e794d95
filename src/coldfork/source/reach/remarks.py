"""The parts of an answer that are no effects: files not read, modules not followed, ignore comments."""

from __future__ import annotations

import sys
from collections import Counter

from coldfork.model.faults import FAILED
from coldfork.model.observations import IgnoreComment, Unfinished, Unreadable
from coldfork.source.files.data_tables import holds_only_data, is_table
from coldfork.source.files.discovery import Found
from coldfork.source.files.modules_of_tests import is_test
from coldfork.source.files.reading import TOO_LARGE
from coldfork.source.files.started import imported
from coldfork.source.program.program import Program
from coldfork.source.reach.quotations import Quotations
from coldfork.source.reach.results import Results
from coldfork.source.syntax.syntax_errors import TOO_DEEP


class Remarks:
    """Tells what an analysis left open."""

    def __init__(self, program: Program, results: Results, found: Found, quotations: Quotations) -> None:
        self._program = program
        self._results = results.by_name
        self._programs = results.programs
        self._broken = results.broken
        self._found = found
        self._quotations = quotations

    def unreadable(self) -> tuple[Unreadable, ...]:
        """Files that could not be analysed."""
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
        """Whether nothing in a file could wake a device, although it is too much to be followed."""
        if reason == TOO_DEEP:
            return holds_only_data(self._program.read_source(path))
        return reason == TOO_LARGE and is_table(path)

    def unfinished(self) -> tuple[Unfinished, ...]:
        """Modules that were not followed to their end."""
        found: dict[object, Unfinished] = {}
        for followed, result in (*self._results.items(), *self._programs.items()):
            name = imported(followed)
            own = name in self._found.files
            for cut in result.cuts:
                key = (cut.module, cut.line, cut.fault) if cut.fault else name
                one = Unfinished(
                    name,
                    cut.function,
                    self._quotations.path_of(cut.module),
                    cut.line,
                    "fault" if cut.fault else "budget",
                    own,
                    cut.fault,
                )
                if key not in found or (own and not found[key].own):
                    found[key] = one
            state = self._program.module(name)
            error = state.outline.error if state is not None else None
            if error is not None and error[0].startswith(FAILED):
                fault = error[0].removeprefix(FAILED)
                found[name] = Unfinished(name, name, self._quotations.path_of(name), 1, "fault", own, fault)
        return tuple(sorted(found.values(), key=lambda u: (u.module, u.line)))

    def ignores(self) -> tuple[IgnoreComment, ...]:
        """Ignore comments of the checked code."""
        found = []
        for name in self._found.files:
            if name not in self._results:
                continue
            state = self._program.module(name)
            for line, column, rules, reason, covers in state.outline.ignores if state is not None else ():
                found.append(
                    IgnoreComment(self._quotations.path_of(name), line, column, rules, reason, covers)
                )
        return tuple(found)

    def absent(self) -> tuple[str, ...]:
        """The packages that importing the modules needs and that were not found, the most imported first.

        An import in a `try`, under an `if` or in a function may be one that the code does without, and what
        tests import is not what its users install.
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
