"""The stories as Markdown, to be pasted into a bug report."""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.model.diagnosis import Blame, Explanation, Story
from coldfork.report.explanations.text import MET, doing, fork_sentence, process_sentence, suspect_sentence
from coldfork.report.shared.characters import one_line, printable
from coldfork.report.shared.options import Options


def render(explanation: Explanation, options: Options) -> str:
    """Write the stories as Markdown."""
    parts = [part for story in explanation.stories for part in _story(story)]
    if not explanation.stories:
        parts.append("`coldfork explain` recognised no known story in this log.")
    if explanation.unexplained:
        errors = [
            f"- line {error.evidence.line}: {_code(error.evidence.text)}" for error in explanation.unexplained
        ]
        parts.append("\n".join(["Not explained:", "", *errors]))
    if explanation.onward is not None:
        parts.append(f"{_plain(explanation.onward.whose)}; next: {_code(explanation.onward.next)}")
    parts += [_plain(note) for note in explanation.notes]
    parts.append(f"_coldfork {options.version}_" if options.version else "_coldfork_")
    return "\n\n".join(parts) + "\n"


def _story(story: Story) -> Iterator[str]:
    yield f"### {_plain(story.title)}"
    yield f"`{story.name}`, {story.confidence.value}. {_plain(story.cause)}"
    facts = []
    if story.culprit is not None:
        met = f" ({_plain(MET)})" if story.blame is Blame.MET else ""
        facts.append(f"- culprit: {_code(doing(story.culprit))}{met}")
    if story.processes:
        facts.append(f"- {_plain(process_sentence(story.processes))}")
        fork = fork_sentence(story.processes)
        facts += [f"- {_plain(fork)}"] if fork else []
    facts += [f"- suspect: {_code(suspect_sentence(suspect))}" for suspect in story.suspects]
    if facts:
        yield "\n".join(facts)
    yield "\n".join(["```text", *(f"{line.line}: {printable(line.text)}" for line in story.evidence), "```"])
    yield "\n".join(f"{number}. {_plain(remedy)}" for number, remedy in enumerate(story.remedies, 1))


def _plain(text: str) -> str:
    return printable(one_line(text))


def _code(text: str) -> str:
    """Return text from the log as Markdown code, even if the text contains backquotes."""
    shown = _plain(text)
    return f"`` {shown} ``" if "`" in shown else f"`{shown}`"
