"""Sentences about stories that several formats say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coldfork.model.diagnosis.evidence import Evidence, Participant, Place, Suspect


def where(place: Place) -> str:
    """A place as editors take it."""
    return place.path if place.line is None else f"{place.path}:{place.line}"


def doing(place: Place) -> str:
    """A place, and what it calls there."""
    return f"{where(place)}  calls {place.call}" if place.call else where(place)


def process_sentence(processes: Sequence[Participant]) -> str:
    """Who failed, how it was started, by what and where."""
    first = processes[0]
    names = [process.name or (f"process {process.pid}" if process.pid else "") for process in processes]
    named = ", ".join(dict.fromkeys(name for name in names if name))
    pids = [str(process.pid) for process in processes if process.pid and process.name]
    noun = "child process" if first.role == "child" else "process"
    # Lines that do not say who wrote them may be of one process or of many.
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
    """Each text of the log once, with the lines on which it stands."""
    numbers: dict[tuple[str | None, str], list[int]] = {}
    for line in evidence:
        numbers.setdefault((line.file, line.text), []).append(line.line)
    for (file, text), lines in numbers.items():
        listed = ", ".join(map(str, lines))
        yield (f"{file}:{listed}" if file else f"line{'s' * (len(lines) > 1)} {listed}"), text


def fork_sentence(processes: Sequence[Participant]) -> str | None:
    """The line that forked; None where that is no question."""
    if not any(process.started == "fork" for process in processes):
        return None
    places = dict.fromkeys(where(process.fork) for process in processes if process.fork is not None)
    if not places:
        return "the log does not show the line that forked; coldfork run --follow PROGRAM records it"
    return f"forked by {', '.join(places)}"


def suspect_sentence(suspect: Suspect) -> str:
    """A suspect in one line."""
    return f"{doing(suspect.place)}; {suspect.reason}"
