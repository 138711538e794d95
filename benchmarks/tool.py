"""Runs `coldfork check` as its users do and reads the JSON it prints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from published import places
from published.errors import UnavailableError

Report = Mapping[str, Any]
Finding = Mapping[str, Any]

#: Effects that poison a fork; a finding about a mere query is no false alarm.
WAKING = frozenset({"initialises-driver", "creates-context"})
RANK = {"possible": 0, "conditional": 1, "certain": 2}
TIME_LIMIT = 600.0


def command(target: Path, *options: str) -> list[str]:
    """The command line of one check."""
    return [sys.executable, "-m", "coldfork", "check", str(target), *options]


def environment(cache: Path | None = None) -> dict[str, str]:
    """The environment of a check: this repository's code first, and a cache folder of its own if wanted."""
    before = os.environ.get("PYTHONPATH")
    path = str(places.ROOT / "src")
    chosen = {**os.environ, "PYTHONPATH": f"{path}{os.pathsep}{before}" if before else path, "NO_COLOR": "1"}
    if cache is not None:
        chosen["COLDFORK_CACHE_DIR"] = str(cache)
    return chosen


def check(
    target: Path, beside: Path | None = None, profile: str = "cuda", entries: Sequence[str] = ()
) -> Report:
    """Check a folder, with what stands beside it, and read the findings."""
    options = ["--format", "json", "--exit-zero", "--no-cache", "--profile", profile]
    if beside is not None:
        options += ["--site-packages", str(beside)]
    for entry in entries:
        options += ["--entry", entry]
    try:
        done = subprocess.run(
            command(target, *options),
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=TIME_LIMIT,
        )
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(f"coldfork check {target.name} took more than {TIME_LIMIT:.0f} s") from error
    if done.returncode != 0:
        raise UnavailableError(
            f"coldfork check {target.name} exits {done.returncode}: {done.stderr.strip()[-600:]}"
        )
    report: Report = json.loads(done.stdout)
    if report.get("schema_version") != 1:
        raise UnavailableError(
            f"coldfork check prints schema_version {report.get('schema_version')!r}, not 1"
        )
    return report


def waking(report: Report) -> list[Finding]:
    """The findings about waking a device, those in a package's own tests left out."""
    return [finding for finding in report["findings"] if finding["effect"] in WAKING and not finding["test"]]


def counts(findings: Sequence[Finding]) -> dict[str, int]:
    """How many findings carry each verdict."""
    return {verdict: sum(finding["verdict"] == verdict for finding in findings) for verdict in RANK}
