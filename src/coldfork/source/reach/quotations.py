"""Quotes the sources in reports: paths, lines, conditions in words, and chains of calls."""

from __future__ import annotations

import re
from collections.abc import Mapping

from coldfork.model.effects import Chain, Step
from coldfork.source.evaluation.flow.branches import TAKING
from coldfork.source.evaluation.trace import Link
from coldfork.source.files.reading import CannotRead
from coldfork.source.files.started import imported
from coldfork.source.program.program import Program
from coldfork.source.values.conditions import Condition, together

_MOST_CONDITIONS = 4
_DENIALS = (
    (" is not installed", " is installed"),
    (" is installed", " is not installed"),
    (" does not import", " imports"),
)
#: An expression that would be read differently between `and` and `or` without brackets.
_LOOSE = re.compile(r"\b(?:or|if|lambda)\b|:=")


class Quotations:
    """Quotes the modules of one analysis; `display` contains the paths of plain files as the user
    gave them.
    """

    def __init__(self, program: Program, display: Mapping[str, str]) -> None:
        self._program = program
        self._display = display
        self._lines: dict[str, list[str]] = {}

    def chain(self, link: Link | None) -> Chain:
        """Return the steps of a path, each with its line of source."""
        steps: list[Step] = []
        while link is not None:
            if link.module is None or link.line is None:
                steps.append(Step(link.kind, link.symbol))
            else:
                path, text = self.path_of(link.module), self.text(link.module, link.line)
                steps.append(Step(link.kind, link.symbol, path, link.line, text))
            link = link.following
        return Chain(tuple(steps))

    def words_of(self, conditions: tuple[Condition, ...]) -> str | None:
        """Return conditions in words; a test in the source is quoted."""
        wanted = together(conditions)
        own = [one for one in wanted if not _is_taking(one)]
        # Naming the value that was taken says little if the source also has a test of its own.
        wanted = tuple(own) or wanted
        words = list(dict.fromkeys(word for one in wanted if (word := self._words(one, len(wanted) > 1))))
        if not words:
            return None
        if len(words) > _MOST_CONDITIONS:
            words = [
                *words[: _MOST_CONDITIONS - 1],
                f"{len(words) - _MOST_CONDITIONS + 1} more conditions hold",
            ]
        return " and ".join(words)

    def _words(self, condition: Condition, among: bool) -> str:
        """Return a condition in words, in brackets if it would be misread `among` others."""
        if condition.every:
            return self.words_of(condition.every) or ""
        if condition.some:
            words = [self._words(one, True) for one in condition.some]
            if not all(words):
                return ""
            if len(words) > _MOST_CONDITIONS:
                rest = len(words) - _MOST_CONDITIONS + 1
                words = [*words[: _MOST_CONDITIONS - 1], f"one of {rest} more conditions holds"]
            return f"({' or '.join(words)})" if among else " or ".join(words)
        if condition.words:
            return _denied(condition) if condition.negated else condition.words
        text = self._quoted(condition)
        if condition.negated:
            return f"not ({text})"
        return f"({text})" if among and _LOOSE.search(text) else text

    def _quoted(self, condition: Condition) -> str:
        first, start, last, end = condition.span
        lines = self._source(condition.module)
        if not 0 < first <= last <= len(lines):
            return "a condition that is no longer there"
        if first == last:
            return lines[first - 1].encode()[start:end].decode("utf-8", "replace")
        raw = [line.encode() for line in lines[first - 1 : last]]
        raw[0], raw[-1] = raw[0][start:], raw[-1][:end]
        return " ".join(part.decode("utf-8", "replace").strip() for part in raw)

    def has_main_guard(self, module: str) -> bool:
        """Return True if the module contains `if __name__ == "__main__"`."""
        return any(line.startswith("if __name__ ==") for line in self._source(module))

    def text(self, module: str, line: int) -> str:
        """Return a line of the source without surrounding space."""
        return self.line(module, line).strip()

    def line(self, module: str, line: int) -> str:
        """Return a line of the source."""
        lines = self._source(module)
        return lines[line - 1] if 0 < line <= len(lines) else ""

    def _source(self, module: str) -> list[str]:
        known = self._lines.get(module)
        if known is None:
            located = self._program.finder.find(module)
            known = []
            if located is not None and located.path is not None:
                try:
                    source = self._program.read_source(located.path)
                    known = source.decode("utf-8", "replace").split("\n")
                except CannotRead:
                    known = []
            self._lines[module] = known
        return known

    def path_of(self, module: str) -> str:
        """Return a module's path for reports: from its top-level package on, or as given for a plain file."""
        module = imported(module)
        shown = self._display.get(module)
        if shown is not None:
            return shown
        located = self._program.finder.find(module)
        base = module.replace(".", "/")
        if located is not None and located.is_package:
            return f"{base}/__init__.py"
        return f"{base}.py"


def _is_taking(condition: Condition) -> bool:
    """Return whether a condition merely says which of several values was taken."""
    parts = condition.every or condition.some
    return all(map(_is_taking, parts)) if parts else condition.words.startswith(TAKING)


def _denied(condition: Condition) -> str:
    if condition.variable:
        return f"the environment variable {condition.variable} is unset"
    if condition.words.startswith("not: "):
        return condition.words.removeprefix("not: ")
    for said, denied in _DENIALS:
        if condition.words.endswith(said):
            return condition.words.removesuffix(said) + denied
    return f"not: {condition.words}"
