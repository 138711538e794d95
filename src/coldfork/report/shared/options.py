"""The options that all renderers accept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from coldfork.model.causes import Audience, Cause
from coldfork.model.effects import Verdict

Source = Callable[[str, int], str]


@dataclass(frozen=True, slots=True)
class RuleText:
    """The texts of a rule: a sentence, its documentation page as Markdown, and the address of the page."""

    summary: str
    markdown: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class Options:
    """How to render a report or a recording; the defaults of all fields suit output to a pipe."""

    version: str = ""
    """coldfork's own version, for formats that name the tool."""
    width: int | None = None
    """Columns of the terminal; None if the output is not a terminal, and then nothing is cut."""
    colour: bool = False
    encoding: str | None = "utf-8"
    """The encoding of the output stream; characters that it lacks are written as escapes."""
    rules: Mapping[str, RuleText] = field(default_factory=dict)
    """The rules that were checked, with their texts, whether or not they found anything."""
    fail_on: Verdict = Verdict.CONDITIONAL
    """Causes at least this sure make the check fail."""
    fail_for: frozenset[Audience] = frozenset({Audience.LIBRARY, Audience.SCRIPT})
    """Causes that concern these make the check fail."""
    tests: bool = False
    """Also show builds, examples and tests."""
    all_ways: bool = False
    """List every module that a cause warms, and every line that comes to it."""
    limit: int | None = None
    """So many causes are listed at most; without one, all of them."""
    command: tuple[str, ...] = ("coldfork", "check")
    """The command that the output answers, for commands that ask for more."""
    everything: bool = False
    """Also show what is well, a line each."""
    locate: Callable[[str], str] = lambda path: path
    """Turns a path of the report into one that an editor can open from the current folder."""
    cell: Callable[[str, int], tuple[int | None, int]] = lambda path, line: (None, line)
    """The notebook cell that a line is in, and the line within it; for other files, the line itself."""
    source: Source = lambda path, line: ""
    """The text of a line of a file that a recording names; empty if it may not or cannot be shown."""

    def place(self, path: str, line: int) -> str:
        """Return a line in a file, relative to the current folder: `file:12`, or `book.ipynb:cell 3:2`."""
        cell, inside = self.cell(path, line)
        return (
            f"{self.locate(path)}:{inside}" if cell is None else f"{self.locate(path)}:cell {cell}:{inside}"
        )

    def fails(self, cause: Cause) -> bool:
        """Return whether a cause makes the check fail."""
        return cause.counts(self.fail_on, self.fail_for)
