"""Searches the program's sources for lines that may have woken the device, as `coldfork check` does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from coldfork.checking.configuration import Configuration
from coldfork.checking.inspection import inspect
from coldfork.checking.request import CheckRequest
from coldfork.diagnose.case import Search
from coldfork.diagnose.installed import environments_of, version_of_source
from coldfork.diagnose.logs.records import LogFrame
from coldfork.diagnose.stacks import is_installed, is_standard, joined
from coldfork.model.causes import Audience, Cause
from coldfork.model.diagnosis import Place, Step, Suspect
from coldfork.model.effects import StepKind
from coldfork.model.errors import UsageError
from coldfork.model.findings import Finding
from coldfork.report.shared.effects import effect_phrase
from coldfork.source.files.site_packages import normalised, search_path, versions

_MOST_SUSPECTS = 8
_MOST_LOCAL = 20
_IN_A_BODY = frozenset({StepKind.CLASS_BODY, StepKind.CALL, StepKind.CONSTRUCT})
"""The kinds of steps whose symbol is the function or class that contains their line."""
_DEVICES = frozenset({"cuda", "rocm", "xpu", "opencl", "jax"})


@dataclass(frozen=True, slots=True)
class Sources:
    """The program's sources, and the environment in which the program ran."""

    folders: tuple[Path, ...] = ()
    """The folders given with `--source`; without any, the files are read that the log names and that are on
    this machine.
    """
    python: Path | None = None

    def search(self) -> Search:
        """Return a search function that analyses the same files only once."""
        answers: dict[tuple[Path, ...], tuple[Suspect, ...]] = {}

        def look(paths: Sequence[str]) -> tuple[Suspect, ...]:
            read = self._to_read(paths)
            if not read:
                return ()
            if read not in answers:
                answers[read] = tuple(_suspects(read, self._environment(), paths))
            return answers[read]

        return look

    def installed(self, distribution: str, paths: Sequence[str]) -> str | None:
        """Return a distribution's version, according to the sources, the environment or the log's paths."""
        given = (version_of_source(folder, distribution) for folder in self.folders)
        found = next((version for version in given if version is not None), None)
        if found is not None:
            return found
        folders = (*self._environment(), *environments_of(paths))
        return versions(folders).get(normalised(distribution))

    def _environment(self) -> tuple[Path, ...]:
        return search_path(self.python, ()) if self.python is not None else ()

    def _to_read(self, paths: Sequence[str]) -> tuple[Path, ...]:
        for folder in self.folders:
            if not folder.exists():
                raise UsageError(f"--source {folder}: no such file or folder")
        installed = _packages(paths, self._environment())
        return tuple(dict.fromkeys((*(self.folders or _local(paths)), *installed)))


def _local(paths: Iterable[str]) -> tuple[Path, ...]:
    """Return the program's own files that the log names and that exist here, if possible as whole
    packages.
    """
    found: dict[Path, None] = {}
    for path in paths:
        frame = LogFrame(0, path, None, "")
        if is_standard(frame) or is_installed(frame) or not path.endswith(".py") or not Path(path).is_file():
            continue
        found[_top(Path(path))] = None
    return tuple(found)[:_MOST_LOCAL]


def _top(file: Path) -> Path:
    """Return the outermost package that a file belongs to, or the file itself."""
    top = file
    while (top.parent / "__init__.py").is_file():
        top = top.parent
    return top


def _packages(paths: Iterable[str], environment: Sequence[Path]) -> Iterator[Path]:
    """Yield the files of installed packages that the log names and the environment contains."""
    for path in paths:
        tail = "/".join(PurePosixPath(joined(LogFrame(0, path, None, ""))).parts)
        _, found, inside = tail.rpartition("-packages/")
        if not found or inside.split("/")[0] in ("torch", "numpy"):
            continue
        for folder in environment:
            if (folder / inside).is_file():
                yield folder / inside


def _suspects(paths: tuple[Path, ...], search: tuple[Path, ...], named: Sequence[str]) -> Iterator[Suspect]:
    inspected = inspect(CheckRequest(paths, Configuration(Path()), search=search))
    findings = {finding.id: finding for finding in inspected.findings}
    ranked = sorted(
        (cause for cause in inspected.causes if _counts(cause)),
        key=lambda cause: _rank(cause, findings, named),
    )
    for cause in ranked[:_MOST_SUSPECTS]:
        yield _suspect(cause, findings.get(cause.findings[0]) if cause.findings else None)


def _counts(cause: Cause) -> bool:
    return cause.accelerator in _DEVICES and cause.audience in (Audience.LIBRARY, Audience.SCRIPT)


def _rank(cause: Cause, findings: dict[str, Finding], named: Sequence[str]) -> tuple[int, bool, int]:
    """Return a sort key for causes: first those in files that the log names, then the surest, then the
    widest.
    """
    in_log = any(_ends_alike(path, cause.path) for path in named)
    return (-cause.verdict.rank, not in_log, -cause.warms)


def _ends_alike(path: str, cause: str) -> bool:
    return f"/{joined(LogFrame(0, path, None, ''))}".endswith(f"/{cause}")


def _suspect(cause: Cause, finding: Finding | None) -> Suspect:
    chain: tuple[str, ...] = ()
    text = ""
    if finding is not None:
        text = finding.text
        chain = tuple(
            f"{step.symbol}  {step.path}:{step.line}" if step.path else step.symbol
            for step in finding.chain.steps
        )
    effect = effect_phrase(cause.effect, cause.accelerator) or "touches a device"
    condition = f", if {cause.condition}" if cause.condition else ""
    place = Place(cause.path, cause.line, cause.call, text)
    if finding is not None and (finding.path, finding.line) != (cause.path, cause.line):
        # The line to mend is the one that runs at import; the cause may be further along the chain.
        place = Place(finding.path, finding.line, finding.chain.sink.symbol, text)
    reason = f"{cause.verdict.value}: importing it {effect}{condition}"
    return Suspect(place, reason, chain, tuple(_steps(finding)))


def _steps(finding: Finding | None) -> Iterator[Step]:
    """Yield the lines of a chain, each with its function, and finally the function that wakes the device."""
    for step in finding.chain.steps if finding is not None else ():
        if step.path is not None:
            at_top = step.kind not in _IN_A_BODY
            yield Step(step.path, "<module>" if at_top else step.symbol, step.text)
        else:
            module, _, function = step.symbol.rpartition(".")
            yield Step(f"{module.replace('.', '/')}.py", function)
