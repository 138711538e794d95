"""Run each program that findings are about once, under watch and for a limited time."""

from __future__ import annotations

import shlex
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic

from coldfork.launch.plumbing.ask import Ended, apart, environment, until_its_end
from coldfork.launch.probe.comparison import Comparison, no_device
from coldfork.launch.probe.confirmation import Confirmation, untestable
from coldfork.launch.probe.proofs import (
    Seen,
    Site,
    accelerator_of,
    is_about_a_program,
    proof,
    site_of,
    without_proof,
)
from coldfork.launch.probe.report_paths import root_by_name
from coldfork.launch.probe.trial import ProbeSetup
from coldfork.model.effects import StartedProgram
from coldfork.model.errors import ColdforkError
from coldfork.model.findings import Confirmed, Finding
from coldfork.model.observations import Progress
from coldfork.model.timelines import Recording
from coldfork.observe.processes.table import start_of
from coldfork.report.recordings.assembly.files import read

_SAFE_PATH = "-P"
"""Keeps Python from searching the current folder, which may hold another copy of a module."""
_TOO_EARLY = "the runs were interrupted before it was tested"
_RECORDING_BYTES = 64 * 1024 * 1024
_LOOK_SECONDS = 1.0
_GRACE_SECONDS = 5.0
"""How long a program may run after everything was seen: most end by themselves, and clean up."""
_LOOK_SHARE = 10
"""At most one part in this many of the time goes into checking what a program has done."""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """Python's arguments for running one program."""

    words: tuple[str, ...]
    root: str | None
    """The folder from which its modules' names count; None if no module name leads to its file."""

    @property
    def shown(self) -> str:
        """Return the command as a user would type it."""
        return f"python {shlex.join(word for word in self.words if word != _SAFE_PATH)}"

    @property
    def before(self) -> tuple[str, ...]:
        """Return the folders to put at the front of the import path."""
        return () if self.root is None else (self.root,)


def refusal(program: StartedProgram, locate: Callable[[str], str]) -> str | None:
    """Return why a program cannot be run; None if it can."""
    if program.path.endswith(".ipynb"):
        return "it is a notebook, whose cells only Jupyter runs"
    if not Path(locate(program.path)).is_file():
        return f"the file of {program.module} does not exist"
    if program.function and _root(program, locate) is None:
        return f"importing {program.module} would not find this file"
    return None


def command_line(program: StartedProgram, locate: Callable[[str], str]) -> CommandLine:
    """Return how to run a program: by its module's name if it is inside a package, else by its file."""
    file, root = locate(program.path), _root(program, locate)
    if program.function:
        name = program.function.partition(".")[0]
        # The scripts that pip installs do the same.
        code = f"import sys; from {program.module} import {name}; sys.exit({program.function}())"
        return CommandLine((_SAFE_PATH, "-c", code), root)
    if root is None or not (Path(file).parent / "__init__.py").is_file():
        return CommandLine((file,), root)
    if Path(file).name == "__init__.py":  # `python -m` cannot run a package's `__init__`
        return CommandLine((_SAFE_PATH, "-c", f"import {program.module}"), root)
    return CommandLine((_SAFE_PATH, "-m", program.module.removesuffix(".__main__")), root)


def _root(program: StartedProgram, locate: Callable[[str], str]) -> str | None:
    return root_by_name(str(Path(locate(program.path)).absolute()), program.module)


@dataclass(frozen=True, slots=True)
class RunPlan:
    """The runs that are about to be made to confirm findings."""

    commands: tuple[str, ...]
    limit: float
    """The seconds that each run may take."""


def unrun(findings: Sequence[Finding]) -> Confirmation:
    """Return the findings as untested, after an interruption before the first run."""
    return Confirmation(
        tuple(untestable(one, _TOO_EARLY) if is_about_a_program(one) else one for one in findings),
        interrupted=True,
    )


def confirm_by_running(
    findings: Sequence[Finding],
    setup: ProbeSetup,
    locate: Callable[[str], str],
    progress: Progress | None = None,
    announce: Callable[[RunPlan], None] | None = None,
) -> Confirmation:
    """Return the findings, with the outcomes of running the programs that they are about.

    The programs run one after another, in the current folder: they may write to the same files.
    """
    there = Comparison.before(setup.virtual)
    said: dict[int, Finding] = {}
    together: defaultdict[CommandLine, list[int]] = defaultdict(list)
    for number, finding in enumerate(findings):
        if not is_about_a_program(finding):
            said[number] = finding
        elif reason := _refusal(finding, there, locate):
            said[number] = untestable(finding, reason)
        elif finding.program is not None:
            together[command_line(finding.program, locate)].append(number)
    if announce is not None and together:
        announce(RunPlan(tuple(command.shown for command in together), setup.timeout))
    interrupted = False
    for done, (command, numbers) in enumerate(together.items()):
        tell = partial(progress or _untold, "running", done, len(together), command.shown)
        run = _ProgramRun(command, [findings[number] for number in numbers], setup, locate, there, tell)
        try:
            said |= zip(numbers, apart(run), strict=True)
        except KeyboardInterrupt:
            interrupted = True
            break
    rest = {number: untestable(finding, _TOO_EARLY) for number, finding in enumerate(findings)}
    return Confirmation(tuple((rest | said).values()), interrupted)


def _untold(*_: object) -> None:
    pass


def _refusal(finding: Finding, there: Comparison, locate: Callable[[str], str]) -> str | None:
    """Return why a run cannot test a finding; None if it can."""
    if finding.program is None:
        return "no known program reaches this line"
    accelerator = accelerator_of(finding)
    missing = None if accelerator is None else no_device(accelerator, there, "--confirm=run")
    return missing or refusal(finding.program, locate)


class _ProgramRun:
    """One run of one program, for all findings about the program."""

    def __init__(
        self,
        command: CommandLine,
        findings: Sequence[Finding],
        setup: ProbeSetup,
        locate: Callable[[str], str],
        there: Comparison,
        tell: Callable[[], object],
    ) -> None:
        self._command = command
        self._findings = [(finding, site_of(finding, locate(finding.path))) for finding in findings]
        self._setup = setup
        self._there = there
        self._tell = tell
        self._next_look = monotonic() + _LOOK_SECONDS
        self._enough_since: float | None = None
        self._proofs: dict[str, str] = {}
        """The proof of each finding, by its id, kept because later output may displace it."""

    def __call__(self, stop: Callable[[], bool]) -> list[Finding]:
        """Run the program; return its findings with the outcomes."""
        with tempfile.TemporaryDirectory(prefix="coldfork-run-") as folder:
            file = Path(folder, "recording")
            ended = self._run(file, stop)
            seen = self._seen(file, ended.output)
        self._note(seen)
        return [self._answered(finding, site, seen, ended) for finding, site in self._findings]

    def _run(self, file: Path, stop: Callable[[], bool]) -> Ended:
        setup = self._setup
        settings = {
            "mode": "run",
            "recording": str(file),
            "limit": _RECORDING_BYTES,
            "began": monotonic(),
            "since": start_of(),
            "follow": True,
            "stage2": [],
        }
        return until_its_end(
            [setup.python, *self._command.words],
            environment(settings, setup.variables(self._command.before), setup.virtual),
            timeout=setup.timeout,
            stop=stop,
            suffices=lambda output: self._suffices(file, output),
        )

    def _suffices(self, file: Path, output: str) -> bool:
        """Return whether all findings were proven a while ago, so that there is no need to wait longer."""
        self._tell()
        now = monotonic()
        if self._enough_since is None and now >= self._next_look:
            seen = self._seen(file, output)
            self._note(seen)
            if len(self._proofs) == len(self._findings):
                self._enough_since = now
            took = monotonic() - now
            self._next_look = now + max(_LOOK_SECONDS, _LOOK_SHARE * took)
        return self._enough_since is not None and now - self._enough_since >= _GRACE_SECONDS

    def _note(self, seen: Seen) -> None:
        """Record the proofs of findings that have been seen so far."""
        for finding, site in self._findings:
            if finding.id not in self._proofs and (proven := proof(finding, site, seen)):
                self._proofs[finding.id] = proven

    def _seen(self, file: Path, output: str) -> Seen:
        there = self._there
        return Seen(self._command.shown, there.device, output, _recording(file), there.accelerators)

    def _answered(self, finding: Finding, site: Site, seen: Seen, ended: Ended) -> Finding:
        if finding.id in self._proofs:
            return replace(finding, confirmed=Confirmed.WOKEN, confirmation=self._proofs[finding.id])
        confirmed, said = without_proof(finding, site, seen, ended, self._setup.timeout)
        return replace(finding, confirmed=confirmed, confirmation=said)


def _recording(file: Path) -> Recording | None:
    with suppress(ColdforkError):
        return read(file)
    return None
