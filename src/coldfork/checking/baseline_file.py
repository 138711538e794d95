"""The baseline file: the findings that a project has accepted, one per line, identified by fingerprints."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from coldfork.model.errors import UsageError
from coldfork.model.findings import Finding

SCHEMA_VERSION = 1
DEFAULT_FILE = "coldfork-baseline.json"


@dataclass(frozen=True, slots=True)
class Accepted:
    """One accepted finding, with rule, path and message so that reviewers can recognise it."""

    rule: str
    path: str
    message: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """The accepted findings by fingerprint, and the machine profile of the check that found them."""

    schema_version: int
    profile: str
    findings: dict[str, Accepted]
    warm: dict[str, list[str]] = field(default_factory=dict)
    """The outermost modules that were warm, by accelerator; empty if the file does not list them."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Today's findings compared with a baseline."""

    new: tuple[Finding, ...]
    known: tuple[Finding, ...]
    gone: tuple[str, ...]
    """Fingerprints that no current finding has."""


def accept(findings: Iterable[Finding], profile: str, warm: dict[str, list[str]]) -> Baseline:
    """Return a baseline that accepts these findings and records which modules they wake."""
    entries = {finding.id: Accepted(finding.rule, finding.path, finding.message) for finding in findings}
    return Baseline(SCHEMA_VERSION, profile, entries, warm)


def set_against(baseline: Baseline, findings: Iterable[Finding]) -> Comparison:
    """Separate new findings from accepted ones, and list the entries that match no finding any more."""
    known: list[Finding] = []
    new: list[Finding] = []
    seen = set()
    for finding in findings:
        (known if finding.id in baseline.findings else new).append(finding)
        seen.add(finding.id)
    return Comparison(tuple(new), tuple(known), tuple(name for name in baseline.findings if name not in seen))


def load(file: Path) -> Baseline:
    """Read a baseline; raise a `UsageError` that says what to do if the file is missing or damaged."""
    import msgspec

    try:
        content = file.read_bytes()
    except FileNotFoundError:
        raise UsageError(f"{file}: no such baseline; `coldfork baseline write {file}` makes it") from None
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}") from None
    try:
        baseline = msgspec.json.decode(content, type=Baseline)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{file}: this is not a baseline of coldfork: {error}; "
            "restore it, or remove it and write a new one"
        ) from None
    if baseline.schema_version != SCHEMA_VERSION:
        raise UsageError(
            f"{file}: a baseline of format {baseline.schema_version}; this coldfork reads {SCHEMA_VERSION}"
        )
    return baseline


def dump(baseline: Baseline) -> str:
    """Return the file's text: one finding per line, sorted so that versions of the file differ little."""
    ordered = sorted(baseline.findings.items(), key=lambda item: (item[1].path, item[1].rule, item[0]))
    lines = ",\n".join(f"    {json.dumps(name)}: {json.dumps(asdict(entry))}" for name, entry in ordered)
    return (
        "{\n"
        f'  "schema_version": {baseline.schema_version},\n'
        f'  "profile": {json.dumps(baseline.profile)},\n'
        f'  "findings": {{{f"{chr(10)}{lines}{chr(10)}  " if lines else ""}}}{_warm(baseline)}\n'
        "}\n"
    )


def _warm(baseline: Baseline) -> str:
    if not baseline.warm:
        return ""
    parts = []
    for accelerator, names in sorted(baseline.warm.items()):
        lines = ",\n".join(f"      {json.dumps(name)}" for name in names)
        parts.append(f"    {json.dumps(accelerator)}: [\n{lines}\n    ]")
    return ',\n  "warm": {\n' + ",\n".join(parts) + "\n  }"
