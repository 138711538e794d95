"""The output of `coldfork ps`: a table for people, and JSON described by `schemas/ps.schema.json`.

In the JSON every process is on a line of its own, so that two outputs can be compared with `diff`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from coldfork.model.running import Census, RunningPython, Threads
from coldfork.model.states import State, Status, Waker
from coldfork.report.shared.characters import cells, well_formed
from coldfork.report.shared.effects import inside
from coldfork.report.shared.json_text import dump, headed, optional, waker_object
from coldfork.report.shared.options import Options
from coldfork.report.shared.quantities import duration
from coldfork.report.shared.sheets import Sheet

_HEAD = ("PID", "STARTED BY", "AGO", "ACCELERATORS", "THREADS", "COMMAND")
# The order of the states, worst first.
_STYLES = {Status.POISONED: "error", Status.AWAKE: "note", Status.UNKNOWN: "warning", Status.COLD: "clean"}
_MOST_LIBRARIES = 3
_MOST_NAMED = 6
_GAP = "  "


def as_text(census: Census, options: Options) -> str:
    """Write the processes as text that ends with a one-line summary."""
    return "\n".join(_Page(census, options).lines()) + "\n"


class _Page:
    """The text output being written."""

    def __init__(self, census: Census, options: Options) -> None:
        self._census = census
        self._sheet = Sheet(options)

    def lines(self) -> Iterator[str]:
        if self._census.processes:
            yield from self._table()
            yield ""
        notes = list(self._notes())
        yield from notes
        if notes:
            yield ""
        yield self._summary()
        yield from self._next()

    def _table(self) -> Iterator[str]:
        rows = [self._row(process) for process in self._census.processes]
        widths = [max(map(cells, column)) for column in zip(_HEAD, *rows, strict=True)]
        # The command is the last column, because only its length is unlimited.
        widths[-1] = 0
        yield self._sheet.paint("quiet", self._line(_HEAD, widths))
        for process, row in zip(self._census.processes, rows, strict=True):
            yield self._painted(process, row, widths)

    def _line(self, row: Iterable[str], widths: list[int]) -> str:
        *front, last = (self._sheet.letters.pad(text, width) for text, width in zip(row, widths, strict=True))
        used = sum(widths) + len(_GAP) * len(front)
        return _GAP.join([*front, self._sheet.letters.cut(last, self._sheet.room(used))]).rstrip()

    def _painted(self, process: RunningPython, row: tuple[str, ...], widths: list[int]) -> str:
        line = self._line(row, widths)
        styles = [_STYLES[state.status] for state in process.states if state.status in _STYLES]
        if not styles:
            return line
        begin = sum(widths[:3]) + 3 * len(_GAP)
        behind = begin + len(row[3])
        style = min(styles, key=tuple(_STYLES.values()).index)
        return line[:begin] + self._sheet.paint(style, line[begin:behind]) + line[behind:]

    def _row(self, process: RunningPython) -> tuple[str, ...]:
        how = process.how.value if process.role is None else f"{process.how.value}, {process.role}"
        return (
            f"{'  ' * process.depth}{process.pid}",
            how,
            _age(self._census.moment - process.started),
            self._sheet.say(_accelerators(process.states)),
            self._sheet.say(_threads(process.threads)),
            self._sheet.say(" ".join(process.command) or process.executable or "?"),
        )

    def _notes(self) -> Iterator[str]:
        """Yield notes on the states; a note that applies to several processes is printed once."""
        said: dict[tuple[str, ...], list[int]] = {}
        for process in self._census.processes:
            for note in _of_states(process):
                said.setdefault(note, []).append(process.pid)
            if process.reason:
                said.setdefault((process.reason,), []).append(process.pid)
        for (first, *more), pids in said.items():
            yield f"{_numbers(pids)}: {self._sheet.say(first)}"
            yield from (f"    {self._sheet.say(line)}" for line in more)

    def _summary(self) -> str:
        census = self._census
        poisoned = census.poisoned
        total = _processes(len(census.processes))
        scope = f" under {', '.join(map(str, census.asked))}" if census.asked else " of this user"
        if poisoned:
            lost = sorted({state.accelerator for process in poisoned for state in process.poisoned})
            sentence = f"{len(poisoned)} of {total}{scope} cannot use {', '.join(lost)} any more"
            return self._sheet.paint("error", sentence)
        unsure = sum(any(state.status is Status.UNKNOWN for state in one.states) for one in census.processes)
        known = f"; not everything is known of {unsure}" if unsure else ""
        sentence = f"{total}{scope}, no accelerator {'seen ' if unsure else ''}poisoned in any{known}"
        beside = [process for process in census.processes if _lost_runtimes(process)]
        if beside:
            names = ", ".join(sorted({name for process in beside for name in _lost_runtimes(process)}))
            sentence += f"; {names} in {len(beside)}, where it does harm only if it is used"
        return self._sheet.paint("clean" if census.processes else "quiet", sentence)

    def _next(self) -> Iterator[str]:
        unnamed = any(
            state.waker is None and state.status in (Status.AWAKE, Status.POISONED)
            for process in self._census.processes
            for state in process.states
        )
        if unnamed:
            yield "Next: coldfork run --follow FILE names the line that woke the device"


def _accelerators(states: Iterable[State]) -> str:
    """Return the notable states of accelerators, worst first; absent accelerators are omitted."""
    by_status: dict[Status, list[str]] = {status: [] for status in _STYLES}
    for state in states:
        by_status.setdefault(state.status, []).append(state.accelerator)
    if sum(map(len, by_status.values())) == len(by_status[Status.UNKNOWN]) > 1:
        return "all unknown"
    said = [f"{', '.join(by_status[status])} {status.value}" for status in _STYLES if by_status[status]]
    return "; ".join(said) or "none loaded"


def _threads(threads: Threads | None) -> str:
    if threads is None:
        return "?"
    named = [f"{name.partition('.so')[0]} {count}" for name, count in threads.libraries[:_MOST_LIBRARIES]]
    others = sum(count for _, count in threads.libraries[_MOST_LIBRARIES:]) + threads.untraced
    if others:
        named.append(f"others {others}")
    if not named:
        return str(threads.total)
    python = [] if threads.python is None else [f"python {threads.python}"]
    return f"{threads.total}: {', '.join([*python, *named])}"


def _of_states(process: RunningPython) -> Iterator[tuple[str, ...]]:
    groups: dict[tuple[Status, str | None, Waker | None], list[State]] = {}
    for state in process.states:
        if state.status in (Status.POISONED, Status.AWAKE, Status.UNKNOWN):
            groups.setdefault((state.status, state.reason, state.waker), []).append(state)
    for (status, reason, waker), states in groups.items():
        names = ", ".join(state.accelerator for state in states)
        level = f" ({states[0].level})" if states[0].level else ""
        sentence = f"{names} {'is' if len(states) == 1 else 'are'} {status.value}{level}"
        first = f"{sentence}: {reason}" if reason else sentence
        yield (first, *_woken_by(waker, process.recording)) if waker is not None else (first,)


def _woken_by(waker: Waker, recording: str | None) -> Iterator[str]:
    place = waker.module or "an unknown place"
    if waker.path is not None:
        place = waker.path if waker.line is None else f"{waker.path}:{waker.line}"
    where = f", in {inside(waker.function)}" if inside(waker.function) else ""
    call = f", by {waker.call}" if waker.call else ""
    yield f"woken in {place}{where}{call}"
    if recording is not None:
        yield f"according to {recording}"


def _lost_runtimes(process: RunningPython) -> list[str]:
    """Return the runtimes of a process that are poisoned but are not devices."""
    lost = [state for state in process.states if state.status is Status.POISONED]
    return [state.accelerator for state in lost if state not in process.poisoned]


def _age(seconds: float) -> str:
    whole = max(0, round(seconds))
    return f"{whole} s" if whole < 100 else duration(whole)


def _processes(count: int) -> str:
    return "1 Python process" if count == 1 else f"{count} Python processes"


def _numbers(pids: list[int]) -> str:
    shown = ", ".join(map(str, pids[:_MOST_NAMED]))
    return shown if len(pids) <= _MOST_NAMED else f"{shown} and {len(pids) - _MOST_NAMED} more"


def as_json(census: Census, options: Options) -> str:
    """Write the processes as JSON in plain ASCII, which no stream can garble."""
    contents = {
        "moment": round(census.moment, 3),
        "asked": list(census.asked),
        "vanished": census.vanished,
        "processes": [_process_object(one) for one in census.processes],
    }
    return dump(headed(contents, options))


def _process_object(process: RunningPython) -> dict[str, Any]:
    return {
        "pid": process.pid,
        "parent": process.parent,
        "executable": optional(process.executable),
        "command": [well_formed(word) for word in process.command],
        "started": round(process.started, 2),
        "how": process.how.value,
        "reason": optional(process.reason),
        "role": process.role,
        "states": [_state_object(state) for state in process.states],
        "threads": process.threads and _threads_object(process.threads),
        "recording": optional(process.recording),
    }


def _state_object(state: State) -> dict[str, Any]:
    return {
        "accelerator": state.accelerator,
        "status": state.status.value,
        "level": state.level and state.level.value,
        "reason": optional(state.reason),
        "library": optional(state.library),
        "woken_by": state.waker and waker_object(state.waker),
    }


def _threads_object(threads: Threads) -> dict[str, Any]:
    return {
        "total": threads.total,
        "python": threads.python,
        "libraries": [{"library": well_formed(name), "threads": count} for name, count in threads.libraries],
        "untraced": threads.untraced,
        "reason": optional(threads.reason),
    }
