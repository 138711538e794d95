"""The JSON of `coldfork probe`: schema_version 1, stable, described by `schemas/probe.schema.json`.

Every module is on a line of its own, so that two outputs can be compared with `diff`.
"""

from __future__ import annotations

from typing import Any

from coldfork.model.probes import ModuleProbe, Probing
from coldfork.report.shared.characters import well_formed
from coldfork.report.shared.json_text import dump, frame_object, headed, optional, waker_object
from coldfork.report.shared.options import Options


def render(probing: Probing, options: Options) -> str:
    """Write the result as JSON in plain ASCII, which no stream can garble."""
    contents = {
        "device": probing.device,
        "python": well_formed(probing.python),
        "forked": probing.forked,
        "seconds": round(probing.seconds, 3),
        "interrupted": probing.interrupted,
        "left": [well_formed(module) for module in probing.left],
        "modules": [module_object(probe) for probe in probing.modules],
    }
    return dump(headed(contents, options))


def module_object(probe: ModuleProbe) -> dict[str, Any]:
    """Return a module as a JSON object."""
    return {
        "module": well_formed(probe.module),
        "status": probe.status.value,
        "reason": optional(probe.reason),
        "accelerator": optional(probe.accelerator),
        "level": probe.level and probe.level.value,
        "woken_by": probe.waker and waker_object(probe.waker),
        "wakes": [
            {
                "accelerator": wake.accelerator,
                "level": wake.level and wake.level.value,
                "module": optional(wake.module),
            }
            for wake in probe.wakes
        ],
        "error": probe.failure
        and {
            "type": well_formed(probe.failure.type),
            "message": well_formed(probe.failure.message),
            "stack": [frame_object(frame) for frame in probe.failure.stack],
        },
        "output": well_formed(probe.output),
        "modules_loaded": probe.modules_loaded,
        "seconds": round(probe.seconds, 4),
    }
