"""SARIF of `coldfork probe`: a result for each waking line, a notification for each unjudged module."""

from __future__ import annotations

import json

from coldfork.model.probes import Probing
from coldfork.report.findings.hosts import sarif
from coldfork.report.probes.words import as_report
from coldfork.report.shared.options import Options


def render(probing: Probing, options: Options) -> str:
    """Write the result as a SARIF log with one run."""
    log = sarif.log(as_report(probing), options)
    for run in log["runs"]:
        for invocation in run["invocations"]:
            invocation["executionSuccessful"] = not probing.interrupted
    return json.dumps(log, indent=2) + "\n"
