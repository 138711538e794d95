"""The JSON of `coldfork report` with two recordings, described by `schemas/difference.schema.json`."""

from __future__ import annotations

from typing import Any

from coldfork.model.timelines import Recording
from coldfork.report.recordings.difference.comparison import ModuleSeen, difference
from coldfork.report.recordings.familiar_paths import for_people
from coldfork.report.recordings.json_format import (
    recording_object,
    verdict_object,
    wake_object,
)
from coldfork.report.shared.characters import well_formed
from coldfork.report.shared.json_text import dump, headed, optional
from coldfork.report.shared.options import Options


def render(before: Recording, after: Recording, options: Options) -> str:
    """Write the difference as JSON in plain ASCII."""
    before, after = (for_people(recording, options)[0] for recording in (before, after))
    found = difference(before, after)
    contents: dict[str, Any] = {
        "before": {"recording": recording_object(before), "verdict": verdict_object(found.before)},
        "after": {"recording": recording_object(after), "verdict": verdict_object(found.after)},
        "same": found.same,
        "wakes_gone": [wake_object(wake) for wake in found.wakes_gone],
        "wakes_new": [wake_object(wake) for wake in found.wakes_new],
        "starts": [
            {"what": well_formed(one.what), "before": one.before, "after": one.after} for one in found.starts
        ],
        "states": [
            {
                "processes": well_formed(one.processes),
                "before": well_formed(one.before),
                "after": well_formed(one.after),
            }
            for one in found.states
        ],
        "modules": {"before": found.modules[0], "after": found.modules[1]},
        "import_seconds": {"before": round(found.seconds[0], 6), "after": round(found.seconds[1], 6)},
        "imports_gone": [_module(one) for one in found.imports_gone],
        "imports_new": [_module(one) for one in found.imports_new],
        "importers": [
            {
                "module": well_formed(new.module),
                "before": optional(old.importer),
                "after": optional(new.importer),
            }
            for old, new in found.importers
        ],
        "times": [
            {
                "module": well_formed(change.module),
                "before": round(change.before, 6),
                "after": round(change.after, 6),
            }
            for change in found.times
        ],
    }
    return dump(headed(contents, options))


def _module(one: ModuleSeen) -> dict[str, Any]:
    return {
        "module": well_formed(one.module),
        "importer": optional(one.importer),
        "own_seconds": round(one.own_seconds, 6),
    }
