"""The changes since a git revision, to which `--changed-since` limits a check."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from coldfork.checking import configuration as configurations
from coldfork.checking.request import CheckRequest
from coldfork.model.errors import ConfigurationError
from coldfork.model.findings import Finding
from coldfork.model.observations import ChangeScope

if TYPE_CHECKING:
    from coldfork.launch.git_changes import Changes

_MODULES = (".py", ".so", ".pyd")


@dataclass(frozen=True, slots=True)
class Asked:
    """The changes since a revision, before the analysis has determined which modules they can affect."""

    since: str
    files: tuple[str, ...]
    """The changed modules, including new and removed ones."""
    everything: str
    """A change that affects every module; empty if there is none."""

    def scope(self, paths: Sequence[str] | None, modules: int) -> ChangeScope:
        """Return the scope of the limited check, from the paths of the modules that changes can affect."""
        here = Path.cwd()
        shown = (Path(file) for file in self.files)
        return ChangeScope(
            self.since,
            tuple(
                file.relative_to(here).as_posix() if file.is_relative_to(here) else file.as_posix()
                for file in shown
            ),
            None if self.everything or paths is None else frozenset(paths),
            modules,
            everything=self.everything,
        )


def changes_asked(request: CheckRequest, paths: tuple[Path, ...]) -> Asked | None:
    """Return the changes since the revision that the request names; None if it names none."""
    revision = request.changed_since
    if not revision:
        return None
    from coldfork.launch.git_changes import changes_since

    changes = changes_since(revision, paths)
    return Asked(
        revision,
        tuple(file for file in changes.files if file.endswith(_MODULES)),
        _concerns_everything(changes, request.baseline, _folders(paths[0], request.configuration)),
    )


def _folders(path: Path, configuration: configurations.Configuration) -> Iterator[Path]:
    """Yield the folders in which a configuration may have been found, before or after the change."""
    beginning = path.absolute()
    for folder in (beginning, *beginning.parents):
        yield folder
        if configuration.file is not None and folder == configuration.folder:
            return


def _concerns_everything(changes: Changes, baseline: str | None, folders: Iterable[Path]) -> str:
    """Return the changed file that affects every module (the configuration or the baseline), or ""."""
    for folder in folders:
        file = f"{os.path.realpath(folder)}{os.sep}{configurations.FILE}"
        if file in changes.files and _settings_differ(Path(file), changes.content_before(file)):
            return f"[tool.coldfork] in {os.path.relpath(folder / configurations.FILE)}"
    if baseline and os.path.realpath(baseline) in changes.files:
        return baseline
    return ""


def _settings_differ(file: Path, before: bytes | None) -> bool:
    """Return whether a configuration's settings for coldfork have changed."""
    now = file.read_bytes() if file.is_file() else b""
    try:
        return configurations.table_in(now, file) != configurations.table_in(before or b"", file)
    except ConfigurationError:
        return True


def narrowed(
    findings: tuple[Finding, ...], scope: ChangeScope | None
) -> tuple[tuple[Finding, ...], ChangeScope | None]:
    """Return the findings that a change can affect: those in affected modules or with a chain through one."""
    if scope is None or scope.paths is None:
        return findings, scope
    paths = scope.paths
    kept = tuple(
        finding
        for finding in findings
        if finding.path in paths or any(step.path in paths for step in finding.chain.steps)
    )
    return kept, replace(scope, left_out=len(findings) - len(kept))
