"""SARIF of `coldfork probe`: a result for each waking line, a notification for each import not judged."""

from __future__ import annotations

from coldfork.model.probes import Probing
from coldfork.report import sarif
from coldfork.report.options import Options
from coldfork.report.probe_findings import as_report


def render(probing: Probing, options: Options) -> str:
    """Write the result as a SARIF log with one run."""
    return sarif.render(as_report(probing), options)
