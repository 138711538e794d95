"""The options that all renderers accept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from coldfork.model.terms.grades import Audience, Verdict

if TYPE_CHECKING:
    from coldfork.model.causes import Cause

Source = Callable[[str, int], str]


class RuleText(NamedTuple):
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
    """The columns of the terminal; None if the output is not a terminal, so that nothing is cut."""
    colour: bool = False
    links: str = ""
    """The form of a link that the terminal can open, with `path` and `line`; empty if it shows none."""
    encoding: str | None = "utf-8"
    """The encoding of the output stream; characters that it lacks are written as escapes."""
    rules: Mapping[str, RuleText] = field(default_factory=dict)
    """The rules that were checked, with their texts, whether or not they found anything."""
    fail_on: Verdict = Verdict.CONDITIONAL
    """Causes at least this sure make the check fail."""
    fail_for: frozenset[Audience] = frozenset({Audience.LIBRARY, Audience.SCRIPT})
    """Causes that concern these audiences make the check fail."""
    tests: bool = False
    """Also show builds, examples and tests."""
    quiet: bool = False
    """Write what was found, and nothing about the check as a whole."""
    all_ways: bool = False
    """Whether to list every module that a cause warms, and every line that leads to it."""
    limit: int | None = None
    """The most causes to list; None means all of them."""
    command: tuple[str, ...] = ("coldfork", "check")
    """The command that was run; suggested commands are based on it."""
    unmended: frozenset[str] = frozenset()
    """The rules of which no finding can be mended, so that no fix is suggested."""
    everything: bool = False
    """Whether to show also what is well, on a line each."""
    locate: Callable[[str], str] = lambda path: path
    """Turns a path in the report into one that an editor can open from the current folder."""
    cell: Callable[[str, int], tuple[int | None, int]] = lambda path, line: (None, line)
    """Returns the notebook cell that contains a line, and the line within it; for other files, the line
    itself.
    """
    source: Source = lambda path, line: ""
    """Returns a line of a file that a recording names; empty if the line must not or cannot be shown."""

    def place(self, path: str, line: int) -> str:
        """Return a line in a file, relative to the current folder: `file:12`, or `book.ipynb:cell 3:2`."""
        cell, inside = self.cell(path, line)
        return (
            f"{self.locate(path)}:{inside}" if cell is None else f"{self.locate(path)}:cell {cell}:{inside}"
        )

    def fails(self, cause: Cause) -> bool:
        """Return whether a cause makes the check fail."""
        return cause.counts(self.fail_on, self.fail_for)
