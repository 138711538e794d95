"""Imports what check found in published packages, on a virtual device: `./dev bench confirm [NAME...]`

A finding that is called certain and stays cold is a fault. Those that were looked into stand with the reason
in `benchmarks/confirmed.json`. It takes minutes for each package: every module with a finding is imported.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import tool
from benchmarks.confirmlist import ROWS, Row
from published import places
from published.errors import UnavailableError

ACCOUNTS = places.ROOT / "benchmarks" / "confirmed.json"
DEVICE = "h100"
SECONDS_EACH = 240
SECONDS_ALL = 3 * 3600

#: Why a finding could not be tested, told from what `check --confirm` says.
_REASONS = (
    ("hidden by an earlier wake", re.compile(r"had woken|was awake before|woke .* whether this line")),
    ("the package is not installed", re.compile(r"which the interpreter does not find")),
    ("a dependency is missing", re.compile(r"ModuleNotFoundError|No module named|requires|is not installed")),
    ("the import fails", re.compile(r"the import (failed|ended|crashed|did not end)")),
    ("a program", re.compile(r"it is a program")),
)

Finding = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of confirming one package."""

    row: Row
    findings: tuple[Finding, ...]

    def count(self, answer: str, verdict: str | None = None) -> int:
        """How many findings got an answer."""
        return sum(
            finding["confirmed"] == answer and verdict in (None, finding["verdict"])
            for finding in self.findings
        )

    @property
    def differences(self) -> tuple[Finding, ...]:
        """Return certain findings whose modules stayed cold when imported."""
        return tuple(
            finding
            for finding in self.findings
            if finding["confirmed"] == "cold" and finding["verdict"] == "certain"
        )

    @property
    def reasons(self) -> Counter[str]:
        """Why findings could not be tested."""
        return Counter(
            reason(str(finding["confirmation"]))
            for finding in self.findings
            if finding["confirmed"] == "not-testable"
        )


def reason(said: str) -> str:
    """The kind of reason for which a finding could not be tested."""
    return next((name for name, pattern in _REASONS if pattern.search(said)), "another reason")


def confirm(row: Row, keep: Path | None = None) -> Outcome:
    """Check one package and import what was found; the report of `check` goes into the folder `keep`."""
    package = row.prepare()
    environment = tool.environment(places.workshop() / "cache")
    command = tool.command(
        package,
        *("--confirm", "--virtual", DEVICE, "--python", str(row.environment.python)),
        *("--timeout", str(SECONDS_EACH), "--format", "json", "--exit-zero"),
    )
    try:
        done = subprocess.run(
            command,
            env={**environment, "TRITON_LIBCUDA_PATH": _driver(environment), **dict(row.variables)},
            cwd=row.environment.folder,
            capture_output=True,
            text=True,
            timeout=SECONDS_ALL,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(f"{row.name}: it took more than {SECONDS_ALL / 3600:.0f} hours") from error
    if done.returncode != 0:
        raise UnavailableError(f"{row.name}: coldfork exits {done.returncode}: {done.stderr.strip()[-600:]}")
    if keep is not None:
        (keep / f"{row.name.replace(' ', '-')}.json").write_text(done.stdout, encoding="utf-8")
    findings = [finding for finding in json.loads(done.stdout)["findings"] if finding["confirmed"]]
    return Outcome(row, tuple(findings))


def _driver(environment: Mapping[str, str]) -> str:
    """The folder of the virtual driver: Triton looks for one where the system lists its libraries."""
    code = (
        "import pathlib, coldfork.virtual\n"
        f"with coldfork.virtual.device({DEVICE!r}) as device: print(pathlib.Path(device.library).parent)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=dict(environment), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise UnavailableError(f"there is no virtual driver: {done.stderr.strip()[-600:]}")
    return done.stdout.strip()


def known(file: Path = ACCOUNTS) -> dict[str, dict[str, str]]:
    """The differences that were looked into: by package, then by place, with the reason."""
    accounts: dict[str, dict[str, str]] = json.loads(file.read_text(encoding="utf-8"))
    return accounts


def place(finding: Finding) -> str:
    """How an account names a finding."""
    return f"{finding['path']}:{finding['line']} {finding['rule']}"


def unaccounted(outcome: Outcome, accounts: Mapping[str, Mapping[str, str]]) -> list[Finding]:
    """The differences that nobody has looked into."""
    explained = accounts.get(outcome.row.name, {})
    return [finding for finding in outcome.differences if place(finding) not in explained]


def table(outcomes: Sequence[Outcome]) -> str:
    """The outcomes as the table of docs/measurements/running.md."""
    lines = [
        "| package | findings | woken | cold | of them certain | not testable | mostly because |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for outcome in outcomes:
        because = ", ".join(f"{name} ({count})" for name, count in outcome.reasons.most_common(2)) or "-"
        cells = (
            outcome.row.name,
            len(outcome.findings),
            outcome.count("woken"),
            outcome.count("cold"),
            len(outcome.differences),
            outcome.count("not-testable"),
            because,
        )
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Confirm what the command line names, or everything; 1 when a difference is not accounted for."""
    parser = argparse.ArgumentParser(prog="./dev bench confirm", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[*(row.name for row in ROWS), []])
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write each package's report here")
    options = parser.parse_args(arguments)
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    outcomes: list[Outcome] = []
    strangers: list[tuple[Row, Finding]] = []
    accounts = known()
    for row in ROWS:
        if options.names and row.name not in options.names:
            continue
        try:
            outcome = confirm(row, options.keep)
        except UnavailableError as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
        outcomes.append(outcome)
        strangers += [(row, finding) for finding in unaccounted(outcome, accounts)]
        print(table([outcome]).rpartition("\n")[2], file=sys.stderr, flush=True)
    print(table(outcomes))
    for row, finding in strangers:
        print(f"not accounted for: {row.name}: {place(finding)}: {finding['confirmation']}")
    return 1 if strangers else 0


if __name__ == "__main__":
    sys.exit(main())
