"""What a renderer may need besides the report itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from coldfork.model.effects import Verdict
from coldfork.model.findings import Finding


@dataclass(frozen=True, slots=True)
class RuleText:
    """What a rule says about itself: one sentence, its page as Markdown, and where that page is published."""

    summary: str
    markdown: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class Options:
    """How to render a report; every field has a default that suits a pipe."""

    version: str = ""
    """coldfork's own version, for formats that name the tool."""
    width: int | None = None
    """Columns of the terminal; None when the output is no terminal, and then nothing is cut."""
    colour: bool = False
    encoding: str | None = "utf-8"
    """The encoding of the stream the text goes to; what it cannot say is written as an escape."""
    rules: Mapping[str, RuleText] = field(default_factory=dict)
    """The rules that were checked, with their texts, whether or not they found anything."""
    fail_on: Verdict = Verdict.CONDITIONAL
    """Findings at least this sure make the check fail."""
    locate: Callable[[str], str] = lambda path: path
    """Turns a path of the report into one that an editor can open from where the user stands."""

    def fails(self, finding: Finding) -> bool:
        """Whether this finding makes the check fail."""
        return finding.verdict.rank >= self.fail_on.rank
