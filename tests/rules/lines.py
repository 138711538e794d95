"""The lines that a rule names."""

from __future__ import annotations

from pathlib import Path

import coldfork


def lines_of(rule: str, folder: Path, version: str) -> list[int]:
    """The lines of the program in a folder that a rule names, for a version of Python."""
    report = coldfork.check([folder / "run.py"], target_version=version)
    return [finding.line for finding in report.findings if finding.rule == rule]
