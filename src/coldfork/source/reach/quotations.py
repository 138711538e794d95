"""The sources as reports quote them: paths, lines, conditions in words, and chains made of these."""

from __future__ import annotations

from collections.abc import Mapping

from coldfork.model.chains import Chain, Step
from coldfork.source.evaluation.flow.branches import TAKING
from coldfork.source.evaluation.trace import Link
from coldfork.source.files.reading import CannotRead, read_source
from coldfork.source.program.program import Program
from coldfork.source.values.conditions import Condition

_MOST_CONDITIONS = 4


class Quotations:
    """Quotes the modules of one analysis; `display` has the paths that plain files were given by."""

    def __init__(self, program: Program, display: Mapping[str, str]) -> None:
        self._program = program
        self._display = display
        self._lines: dict[str, list[str]] = {}

    def chain(self, link: Link | None) -> Chain:
        """The steps that a way leads through, each with its line."""
        steps: list[Step] = []
        while link is not None:
            if link.module is None or link.line is None:
                steps.append(Step(link.kind, link.symbol))
            else:
                steps.append(
                    Step(
                        link.kind,
                        link.symbol,
                        self.path_of(link.module),
                        link.line,
                        self.text(link.module, link.line),
                    )
                )
            link = link.following
        return Chain(tuple(steps))

    def words_of(self, conditions: tuple[Condition, ...]) -> str | None:
        """Conditions in words, the source's own where they are tests."""
        words = [self._words(condition) for condition in conditions]
        words = list(dict.fromkeys(word for word in words if word))
        own_words = [word for word in words if not word.startswith(TAKING)]
        words = own_words or words  # which value was taken says little beside a condition of the author's own
        if not words:
            return None
        if len(words) > _MOST_CONDITIONS:
            words = [
                *words[: _MOST_CONDITIONS - 1],
                f"{len(words) - _MOST_CONDITIONS + 1} more conditions hold",
            ]
        return " and ".join(words)

    def _words(self, condition: Condition) -> str:
        if condition.words:
            return condition.words
        first, start, last, end = condition.span
        lines = self._source(condition.module)
        if not 0 < first <= last <= len(lines):
            return "a condition that is no longer there"
        if first == last:
            text = lines[first - 1].encode()[start:end].decode("utf-8", "replace")
        else:
            raw = [line.encode() for line in lines[first - 1 : last]]
            raw[0], raw[-1] = raw[0][start:], raw[-1][:end]
            text = " ".join(part.decode("utf-8", "replace").strip() for part in raw)
        return f"not ({text})" if condition.negated else text

    def has_main_guard(self, module: str) -> bool:
        """True when the module has a part that runs only where it is started: `if __name__ == "__main__"`."""
        return any(line.startswith("if __name__ ==") for line in self._source(module))

    def text(self, module: str, line: int) -> str:
        """The source line, stripped."""
        lines = self._source(module)
        return lines[line - 1].strip() if 0 < line <= len(lines) else ""

    def _source(self, module: str) -> list[str]:
        known = self._lines.get(module)
        if known is None:
            located = self._program.finder.find(module)
            known = []
            if located is not None and located.path is not None:
                try:
                    known = read_source(located.path).decode("utf-8", "replace").split("\n")
                except CannotRead:
                    known = []
            self._lines[module] = known
        return known

    def path_of(self, module: str) -> str:
        """The path of a module as reports show it: from its top package, or as given for a plain file."""
        shown = self._display.get(module)
        if shown is not None:
            return shown
        located = self._program.finder.find(module)
        base = module.replace(".", "/")
        if located is not None and located.is_package:
            return f"{base}/__init__.py"
        return f"{base}.py"
