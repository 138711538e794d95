"""`check --confirm`: what importing the modules of the findings shows about them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coldfork.cli.places import Locate
from coldfork.cli.surroundings import surroundings
from coldfork.model.findings import Finding

if TYPE_CHECKING:
    from coldfork.launch.probe.confirmation import Confirmation


def confirm_findings(findings: Sequence[Finding], settings: dict[str, Any], locate: Locate) -> Confirmation:
    """Import the modules of these findings, and say of each what that showed."""
    from coldfork.launch.probe.confirmation import confirm
    from coldfork.launch.probe.probe import interpreter
    from coldfork.launch.probe.termination import interrupted_by_sigterm
    from coldfork.launch.watched_process import require_watching
    from coldfork.report.shared.progress import ProgressBar
    from coldfork.source.files.site_packages import search_path

    require_watching("check --confirm")
    # The dependencies whose sources were read are those that the imports find.
    beside = [Path(folder) for folder in settings["site-packages"]]
    after = tuple(str(folder.absolute()) for folder in search_path(None, beside)) if beside else ()
    python = interpreter(_program(settings["python"]), neighbours=(Path(".venv"),))
    with interrupted_by_sigterm(), ProgressBar(sys.stderr) as bar:
        return confirm(
            findings,
            surroundings(settings, python, after=after),
            settings["profile"],
            locate,
            settings["jobs"],
            bar.update,
        )


def _program(python: str | None) -> str | None:
    """The interpreter of an environment that was named by its folder."""
    return str(Path(python, "bin", "python")) if python and Path(python).is_dir() else python
