"""One module of an analysis: its summary, and the code of its functions once somebody follows them."""

from __future__ import annotations

from coldfork.source.files.finder import Located
from coldfork.source.files.reading import CannotRead, read_source
from coldfork.source.syntax.nodes import Code
from coldfork.source.syntax.summary import Summary, function_code
from coldfork.source.syntax.syntax_errors import explain_body


class Module:
    """One module: its summary, and what has been asked of it so far."""

    __slots__ = (
        "bit",
        "broken",
        "codes",
        "lazy",
        "located",
        "name",
        "own",
        "package",
        "path",
        "source",
        "summary",
    )

    def __init__(self, name: str, located: Located, summary: Summary) -> None:
        self.name = name
        self.located = located
        self.path = located.path or ""
        self.own = located.own
        self.package = name if located.is_package else name.rpartition(".")[0]
        self.summary = summary
        self.lazy = summary.lazy
        """The names that a lazy import binds, and the submodules that one names."""
        self.source: bytes | None = None
        self.codes: dict[int, Code | None] = {}
        self.bit = 0
        self.broken: tuple[str, int, int] | None = None
        """Why a function of this module could not be followed: the first that does not parse."""

    def code_at(self, line: int) -> Code | None:
        """The code of a function whose body was blanked; None when it cannot be read any more."""
        try:
            return self.codes[line]
        except KeyError:
            pass
        span = self.summary.spans.get(line)
        code: Code | None = None
        if span is not None:
            if self.source is None:
                try:
                    self.source = read_source(self.path)
                except CannotRead:
                    self.source = b""
            start, end = span
            code = function_code(self.source, start, end, line)
            if code is None and self.broken is None:
                self.broken = (explain_body(self.source, start, end), line, 0)
        self.codes[line] = code
        return code

    def absolute(self, module: str | None, level: int) -> str:
        """The absolute name of what an import statement of this module names."""
        if level == 0:
            return module or ""
        base = self.package
        for _ in range(level - 1):
            base = base.rpartition(".")[0]
        if not base:
            return module or ""
        return f"{base}.{module}" if module else base
