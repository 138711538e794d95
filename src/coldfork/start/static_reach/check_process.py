"""Have `coldfork check` examine a module in another process, and wait a limited time for its answer."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from coldfork.observe.forking.questions import profile
from coldfork.observe.processes.asking import ask_our_own, last_line
from coldfork.start.static_reach.answers import Place, ReachAnswer, Reached

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMAND = (sys.executable, "-P", "-m", "coldfork.checking")
"""The command that reads a question from standard input, and writes the JSON of a check."""
WAKING = ("initialises-driver", "creates-context", "queries-device")
_SURENESS = ("certain", "conditional", "possible")
RULES = (
    "device-init-at-import",
    "driver-init-at-import",
    "waking-import",
    "device-query-at-import",
    "unreadable-source",
)


def ask(place: Place, search: Sequence[str], deadline: float) -> ReachAnswer:
    """Return the answer for one module, or the reason why there is none."""
    if not sys.executable:
        return ReachAnswer.unknown(
            place.module, "the path of this interpreter is unknown, so it cannot be started"
        )
    done = ask_our_own(COMMAND, json.dumps(question(place, search)), deadline)
    if done is None:
        return ReachAnswer.unknown(place.module, f"the check took longer than {deadline:g} s")
    if done.returncode:
        last = last_line(done.stderr) or f"status {done.returncode}"
        return ReachAnswer.unknown(place.module, f"the check failed: {last[:200]}")
    report = json.loads(done.stdout)
    return judged(place.module, report["findings"], len(report["skipped"]), report["unfinished"])


def judged(
    module: str, findings: Sequence[dict[str, Any]], skipped: int, unfinished: Sequence[dict[str, Any]] = ()
) -> ReachAnswer:
    """Return the answer that follows from the findings of `coldfork check`: that of the surest
    waking line.
    """
    waking = [finding for finding in findings if finding["effect"] in WAKING]
    if not waking:
        if skipped:
            return ReachAnswer.unknown(module, f"{skipped} of the files it imports could not be read")
        if unfinished:
            where = f"{unfinished[0]['path']}:{unfinished[0]['line']}"
            return ReachAnswer.unknown(module, f"following what it runs takes too long, at {where}")
        return ReachAnswer(module, Reached.NOTHING)
    first = min(waking, key=lambda one: (WAKING.index(one["effect"]) > 1, _SURENESS.index(one["verdict"])))
    return ReachAnswer(
        module,
        Reached.WAKES,
        first["condition"],
        first["accelerator"],
        first["verdict"],
        first["path"],
        first["line"],
    )


def question(place: Place, search: Sequence[str]) -> dict[str, Any]:
    """Return the question for the check."""
    return {
        "paths": [place.path],
        "entries": [place.module],
        "rules": RULES,
        "search": _folders(search, place),
        "profile": profile(),
        "target_version": f"{sys.version_info[0]}.{sys.version_info[1]}",
    }


def _folders(search: Sequence[str], place: Place) -> list[str]:
    """Return the folders of this program's packages, without the standard library and the module's own."""
    standard = os.path.dirname(os.__file__)
    beside = {os.path.abspath(folder or os.curdir) for folder in search}
    return sorted(
        folder
        for folder in beside - {place.root, standard, os.path.join(standard, "lib-dynload")}
        if os.path.isdir(folder)
    )
