"""`coldfork explain` as text: each story with its culprit, its evidence and the remedies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coldfork.model.diagnosis import (
    Blame,
    Confidence,
    Evidence,
    Explanation,
    Participant,
    Place,
    Role,
    Story,
    Suspect,
)
from coldfork.report.shared.options import Options
from coldfork.report.shared.sheets import Sheet
from coldfork.report.shared.wrapping import fitted


def where(place: Place) -> str:
    """Return a place in a form that editors can open."""
    return place.path if place.line is None else f"{place.path}:{place.line}"


def doing(place: Place) -> str:
    """Return a place and the call that is made there."""
    return f"{where(place)}  calls {place.call}" if place.call else where(place)


def process_sentence(processes: Sequence[Participant]) -> str:
    """Return a sentence about which process failed, how it was started, and by which framework."""
    first = processes[0]
    names = [process.name or (f"process {process.pid}" if process.pid else "") for process in processes]
    named = ", ".join(dict.fromkeys(name for name in names if name))
    pids = [str(process.pid) for process in processes if process.pid and process.name]
    noun = "child process" if first.role == "child" else "process"
    # Without a name or pid, the lines may come from one process or from several, so no number is given.
    one = f"1 {noun}" if named or pids or first.pid else f"a {noun}"
    who = one if len(processes) == 1 else f"{len(processes)} {noun}es"
    sentence = f"in {who}" + (f": {named}" if named else "") + (f" (pid {', '.join(pids)})" if pids else "")
    if first.started:
        sentence += f"; started by {first.started}"
        sentence += f", through {first.framework}" if first.framework else ""
    elif first.framework:
        sentence += f"; started through {first.framework}"
    return sentence


def evidence_lines(evidence: Sequence[Evidence]) -> Iterator[tuple[str, str]]:
    """Yield each different text of the evidence once, with the numbers of all its lines in the log."""
    numbers: dict[tuple[str | None, str], list[int]] = {}
    for line in evidence:
        numbers.setdefault((line.file, line.text), []).append(line.line)
    for (file, text), lines in numbers.items():
        listed = ", ".join(map(str, lines))
        yield (f"{file}:{listed}" if file else f"line{'s' * (len(lines) > 1)} {listed}"), text


def fork_sentence(processes: Sequence[Participant]) -> str | None:
    """Return a sentence about the line that forked the process; None if no process was forked."""
    if not any(process.started == "fork" for process in processes):
        return None
    places = dict.fromkeys(where(process.fork) for process in processes if process.fork is not None)
    if not places:
        return "the log does not show the line that forked; coldfork run --follow PROGRAM records it"
    return f"forked by {', '.join(places)}"


def suspect_sentence(suspect: Suspect) -> str:
    """Return a suspected line, with the reason for the suspicion, as one line of text."""
    return f"{doing(suspect.place)}; {suspect.reason}"


_STYLES = {Confidence.CERTAIN: "error", Confidence.LIKELY: "warning", Confidence.POSSIBLE: "warning"}
_MOST_CHAIN = 12
MET = "the error surfaced at this line; its cause came earlier and is not in the log"
_ROLES = {
    Role.PROGRAM: "the program's line",
    Role.FRAMEWORK: "the framework's ({})",
    Role.DEVICE: "at the device ({})",
    Role.FORK: "where the process was started",
}


def render(explanation: Explanation, options: Options) -> str:
    """Write the stories as text that ends with a one-line summary."""
    return "\n".join(fitted(_Page(explanation, Sheet(options)).lines(), options.width)) + "\n"


class _Page:
    """The text output being written."""

    def __init__(self, explanation: Explanation, sheet: Sheet) -> None:
        self._explanation = explanation
        self._sheet = sheet

    def lines(self) -> Iterator[str]:
        for story in self._explanation.stories:
            yield from self._story(story)
            yield ""
        unexplained = self._explanation.unexplained
        if unexplained:
            yield "not explained:" if self._explanation.stories else "no known story; the log ends with:"
            for error in unexplained:
                where = f"{error.evidence.file}:" if error.evidence.file else "line "
                yield f"  {self._sheet.cut(f'{where}{error.evidence.line}: {error.evidence.text}', 2)}"
            yield ""
        if self._explanation.onward is not None:
            yield self._note(self._explanation.onward.whose)
            yield f"next: {self._sheet.say(self._explanation.onward.next)}"
            yield ""
        for note in self._explanation.notes:
            yield self._sheet.say(note)
        if self._explanation.stories or unexplained or not self._explanation.notes:
            yield self._summary()

    def _story(self, story: Story) -> Iterator[str]:
        label = self._sheet.paint(_STYLES[story.confidence], f"{story.confidence.value}[{story.name}]")
        yield f"{label} {self._sheet.paint('title', self._sheet.say(story.title))}"
        if story.culprit is not None:
            arrow = self._sheet.paint("quiet", "-->")
            yield f"  {arrow} {self._sheet.paint('place', self._sheet.say(doing(story.culprit)))}"
            if story.culprit.text:
                yield f"      {self._sheet.cut(story.culprit.text, 6)}"
        if story.processes:
            yield self._note(process_sentence(story.processes))
            fork = fork_sentence(story.processes)
            if fork is not None:
                yield self._note(fork)
        yield self._note(story.cause)
        yield from self._suspects(story)
        if story.culprit is not None and story.blame is Blame.MET:
            yield self._note(f"{where(story.culprit)}: {MET}")
        yield from self._parts(story)
        yield "  evidence"
        for at, text in evidence_lines(story.evidence):
            yield f"      {self._sheet.cut(f'{at}: {text}', 6)}"
        for other in story.alternatives:
            yield self._note(f"it could also be {other}")
        for number, remedy in enumerate(story.remedies, 1):
            yield f"   = {self._sheet.paint('help', 'help:')} {number}. {self._sheet.say(remedy)}"
        if story.next:
            yield f"next: {self._sheet.say(story.next)}"

    def _suspects(self, story: Story) -> Iterator[str]:
        if not story.suspects:
            return
        alone = len(story.suspects) == 1 and story.suspects[0].place == story.culprit
        yield f"  {story.suspects[0].reason}" if alone else "  suspects"
        for number, suspect in enumerate(story.suspects, 1):
            if not alone:
                yield f"  {number:2}. {self._sheet.say(suspect_sentence(suspect))}"
            for step in suspect.chain[:_MOST_CHAIN]:
                yield f"        {self._sheet.cut(step, 8)}"

    def _parts(self, story: Story) -> Iterator[str]:
        """Yield the lines of the stack other than the culprit, each with its role."""
        others = [part for part in story.parts if part.place != story.culprit]
        if others:
            yield "  lines"
        for part in others:
            whose = part.owner or "the program"
            line = f"{_ROLES[part.role].format(whose)}: {doing(part.place)}"
            yield f"      {self._sheet.cut(line, 6)}"

    def _note(self, sentence: str) -> str:
        return f"   = {self._sheet.say(sentence)}"

    def _summary(self) -> str:
        stories = self._explanation.stories
        if not stories:
            return "no known story was recognised in it"
        sure = {level: sum(story.confidence is level for story in stories) for level in Confidence}
        said = ", ".join(f"{count} {level.value}" for level, count in sure.items() if count)
        count = f"{len(stories)} stories" if len(stories) > 1 else "1 story"
        return f"{count}: {said}"
