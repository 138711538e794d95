"""Judge findings by what a run of their program showed."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os.path import realpath
from pathlib import Path, PurePath

from coldfork.launch.plumbing.ask import Ended
from coldfork.launch.probe.comparison import parsed
from coldfork.model.findings import Confirmed, Finding
from coldfork.model.states import Status
from coldfork.model.timelines import Departure, How, Process, Recording
from coldfork.observe.recording import redaction
from coldfork.report.recordings.summary.forks import is_harmed, touched, touching_frame
from coldfork.report.recordings.summary.phrases import processes

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_FRAME = re.compile(r'\s*File "(.+)", line (\d+)')
_ERROR = re.compile(r"((?:\w+\.)*[A-Z_]\w*)(?:: ?(.*))?")

_PICKLING = re.compile(r"can(?:'t|not) (?:pickle|get local object)", re.IGNORECASE)
_BOOTSTRAPPING = "An attempt has been made to start a new process before"
_USAGE = re.compile(r"^usage:", re.IGNORECASE | re.MULTILINE)
_NAMED = re.compile(r"<locals>\.([\w<>]+)|<(?:function|class) '?([\w.<>]+)")
_FORKING = "fork-after-device-init"


@dataclass(frozen=True, slots=True)
class PrintedError:
    """A printed error with its traceback; if several processes print at once, their frames may be mixed."""

    name: str
    message: str
    frames: tuple[tuple[str, int], ...]
    """Files and lines, outermost first."""

    @property
    def is_of_pickling(self) -> bool:
        """Return whether the error says that an object could not be pickled."""
        return self.name.endswith("PicklingError") or _PICKLING.search(self.message) is not None

    @property
    def is_of_a_start(self) -> bool:
        """Return whether the error arose while a process was being started, at the line that starts it."""
        return any("/multiprocessing/popen_" in path for path, _ in self.frames)

    @property
    def is_of_bootstrapping(self) -> bool:
        """Return whether a process that was still importing its main module tried to start another."""
        return _BOOTSTRAPPING in self.message

    def __str__(self) -> str:
        """Return the error in one line, cut after its first sentence."""
        said = self.message.partition(". ")[0].rstrip(".")
        return f"{self.name}: {said}" if said else self.name


def printed_errors(output: str) -> Iterator[PrintedError]:
    """Yield the errors with tracebacks in an output, in the order in which they were printed."""
    frames: list[tuple[str, int]] = []
    name, said = "", [""]
    for line in _COLOUR.sub("", output).splitlines():
        frame = _FRAME.match(line)
        if name and (frame or (line.strip() and not line[0].isspace())):
            error = _made(name, said, frames)
            yield error
            # If two processes print the same error at once, the message follows the second name; so keep the
            # frames.
            name, frames = "", frames if not error.message else []
        if frame:
            frames.append((frame[1], int(frame[2])))
        elif name:  # a message may go on in further lines, which are indented in the errors sought here
            said.append(line)
        elif frames and (head := _ERROR.fullmatch(line)):
            name, said = head[1], [head[2] or ""]
    if name:
        yield _made(name, said, frames)


def _made(name: str, said: list[str], frames: list[tuple[str, int]]) -> PrintedError:
    return PrintedError(name.rpartition(".")[2], " ".join(" ".join(said).split()), tuple(frames))


@dataclass(frozen=True, slots=True)
class Site:
    """The lines of the statement that a finding is about; Python may name any of them."""

    file: str
    """The file, with links resolved."""
    lines: range
    is_tried: bool = False
    """Whether the statement is in a `try` that may handle its errors."""

    def holds(self, path: str, line: int) -> bool:
        """Return whether this line of a file belongs to the statement."""
        return line in self.lines and realpath(path) == self.file


def site_of(finding: Finding, file: str) -> Site:
    """Return the statement that a finding in `file` is about."""
    tree = parsed(file)
    spans = [_own_lines(node) for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    around = [span for span in spans if finding.line in span]
    only = range(finding.line, finding.line + 1)
    tried = any(finding.line in _body(node) for node in ast.walk(tree) if isinstance(node, ast.Try))
    return Site(realpath(file), min(around, key=len, default=only), tried)


def _body(statement: ast.Try) -> range:
    """Return the lines in a `try` whose errors are handled."""
    end = statement.body[-1].end_lineno or 0
    return range(statement.body[0].lineno, end + 1 if statement.handlers else 0)


def _own_lines(statement: ast.stmt) -> range:
    """Return the lines of a statement without the block that it contains."""
    body: list[ast.stmt] = getattr(statement, "body", [])
    end = max(statement.lineno + 1, body[0].lineno) if body else (statement.end_lineno or 0) + 1
    return range(statement.lineno, end)


@dataclass(frozen=True, slots=True)
class Seen:
    """The observations of a program's run, at its end or while it runs."""

    command: str
    """The command that started it."""
    device: str
    """`real`, `none`, or `virtual:` and its name."""
    output: str
    recording: Recording | None
    """The program's recording; None if nothing was recorded."""
    accelerators: frozenset[str] = frozenset()
    """Accelerators that are certainly there."""


def proof(finding: Finding, site: Site, seen: Seen) -> str | None:
    """Return a sentence that says how a run proved a finding; None if it did not."""
    return _PROOFS[finding.rule](finding, site, seen)


def is_about_a_program(finding: Finding) -> bool:
    """Return whether running a program can test a finding."""
    return finding.rule in _PROOFS


def accelerator_of(finding: Finding) -> str | None:
    """Return the accelerator that must be present to test a finding; None if none is needed."""
    return next((way.accelerator for way in finding.ways if way.role == "before"), None)


def without_proof(
    finding: Finding, site: Site, seen: Seen, ended: Ended, limit: float
) -> tuple[Confirmed, str]:
    """Return the judgement of a finding that was not proven by the time its program's run had finished."""
    failed = _failure(seen, ended, limit)
    if failed is not None:
        return Confirmed.NOT_TESTABLE, failed
    if finding.rule != _FORKING:
        return _without_error(site, seen, ended)
    return _without_use(finding, site, seen)


# -- forked processes ----------------------------------------------------------------------------------------


def _forked(finding: Finding, site: Site, seen: Seen) -> str | None:
    accelerator = accelerator_of(finding) or ""
    children = list(_children(site, seen.recording))
    forked = f"{seen.command} forked {processes(len(children))} at this line"
    used = [child for _, child in children if touched(child, accelerator)]
    if used:
        they = _of(len(used), len(children))
        return f"{forked}, and {they} used {accelerator}{_where(used[0], accelerator)}, on {seen.device}"
    harmed = [
        child
        for fork, child in children
        if any(one.status is Status.POISONED and one.accelerator == accelerator for one in child.stretches)
        and is_harmed(child, accelerator, fork)
    ]
    if harmed:
        return f"{forked}, and {_of(len(harmed), len(children))} cannot use {accelerator}, on {seen.device}"
    return None


def _where(process: Process, accelerator: str) -> str:
    frame = touching_frame(process, accelerator)
    if frame is None:
        return ""
    path, here = PurePath(frame.path), Path.cwd()
    return f" at {path.relative_to(here) if path.is_relative_to(here) else path}:{frame.line}"


def _children(site: Site, recording: Recording | None) -> Iterator[tuple[Departure, Process]]:
    """Yield the processes that were forked at this statement, each with its fork."""
    everyone = () if recording is None else recording.processes
    for process in everyone:
        for going in process.departures:
            if going.how is How.FORK and going.child is not None:
                if any(site.holds(frame.path, frame.line) for frame in going.stack):
                    yield going, everyone[going.child]


def _without_use(finding: Finding, site: Site, seen: Seen) -> tuple[Confirmed, str]:
    """Judge a fork's finding if its program ended well and no forked process was seen to use the device."""
    if seen.recording is None:
        return Confirmed.NOT_TESTABLE, f"nothing was recorded of {seen.command}"
    if seen.recording.cut is not None:
        return Confirmed.NOT_TESTABLE, f"the recording of {seen.command} became too large"
    accelerator = accelerator_of(finding) or ""
    if accelerator not in seen.accelerators:
        return Confirmed.NOT_TESTABLE, f"it is unknown whether there is a device for {accelerator}"
    children = [child for _, child in _children(site, seen.recording)]
    if not children:
        return Confirmed.COLD, f"{seen.command} ended without forking at this line, on {seen.device}"
    forked = f"{seen.command} forked {processes(len(children))} at this line"
    awake = any(
        one.status is Status.POISONED and one.accelerator == accelerator
        for child in children
        for one in child.stretches
    )
    if not awake:
        return Confirmed.COLD, f"{forked} before anything woke {accelerator}, on {seen.device}"
    return Confirmed.COLD, f"{forked}, and none was seen to use {accelerator}, on {seen.device}"


def _of(some: int, all_: int) -> str:
    if some == all_:
        return "it" if all_ == 1 else "they"
    return f"{some} of them"


# -- errors that Python printed -----------------------------------------------------------------------------


def _leads_through(site: Site, error: PrintedError) -> bool:
    return any(site.holds(path, line) for path, line in error.frames)


def _imported_again(finding: Finding, site: Site, seen: Seen) -> str | None:
    for error in printed_errors(seen.output):
        if error.is_of_bootstrapping and _leads_through(site, error):
            return (
                f"{seen.command} reached this line again in the process that it had started: {_quoted(error)}"
            )
    return None


def _refused(finding: Finding, site: Site, seen: Seen) -> str | None:
    for error in printed_errors(seen.output):
        if not error.is_of_pickling:
            continue
        if _leads_through(site, error):
            return f"{seen.command} failed at this line: {_quoted(error)}"
        # If a pool cannot send an object, the error arises only where the result is requested.
        if not error.is_of_a_start and _names_what_was_sent(error, finding):
            return f"{seen.command} failed to send what this line passes: {_quoted(error)}"
    return None


def _names_what_was_sent(error: PrintedError, finding: Finding) -> bool:
    named = [local or name for local, name in _NAMED.findall(error.message)]
    words = ["a lambda" if name.endswith("<lambda>") else f" {name.rpartition('.')[2]}" for name in named]
    said = finding.message.partition(" sent to ")[0]
    return any(f"{word} " in said for word in words)


def _raising(text: str, here: bool = True) -> Callable[[Finding, Site, Seen], str | None]:
    """Return the proof for findings about this error: it was raised at the finding's line, or in a child."""

    def proof(finding: Finding, site: Site, seen: Seen) -> str | None:
        for error in printed_errors(seen.output):
            if text in error.message and (not here or _leads_through(site, error)):
                where = "failed at this line" if here else "had a child that failed"
                return f"{seen.command} {where}: {_quoted(error)}"
        return None

    return proof


def _without_error(site: Site, seen: Seen, ended: Ended) -> tuple[Confirmed, str]:
    if site.is_tried:
        return Confirmed.NOT_TESTABLE, "the program handles an error at this line without printing it"
    if ended.cut:
        return (
            Confirmed.NOT_TESTABLE,
            (f"{seen.command} printed so much that only the end of its output was searched for an error"),
        )
    return Confirmed.COLD, f"{seen.command} ended, and Python printed no such error"


def _quoted(error: PrintedError) -> str:
    return redaction.text(str(error))


# -- failures before anything could be seen
# ---------------------------------------------------------------------


def _failure(seen: Seen, ended: Ended, limit: float) -> str | None:
    """Return why a program's run proves nothing; None if it ended by itself and without an error."""
    if ended.timed_out:
        return f"{seen.command} did not end within {limit:g} s, and had not failed in that way by then"
    if ended.signal is not None:
        return f"{seen.command} was ended by {ended.signal} before it could show this"
    if not ended.status:
        return None
    last = redaction.text(next(filter(None, map(str.strip, reversed(seen.output.splitlines()))), ""))
    if ended.status == 2 and _USAGE.search(seen.output):
        return f"{seen.command} wants arguments: {last}"
    errors = list(printed_errors(seen.output))
    said = _quoted(errors[-1]) if errors else last
    how = f"{seen.command} ended with exit status {ended.status} before it could show this"
    return f"{how}: {said}" if said else how


_PROOFS: dict[str, Callable[[Finding, Site, Seen], str | None]] = {
    _FORKING: _forked,
    "missing-main-guard": _imported_again,
    "unpicklable-target": _refused,
    "mixed-contexts": _raising("A SemLock created in a fork context"),
    "start-method-too-late": _raising("context has already been set"),
    "daemonic-worker-with-children": _raising("daemonic processes are not allowed to have children", False),
}
"""By a rule's name: the function that proves from a run that the rule's warning came true."""
