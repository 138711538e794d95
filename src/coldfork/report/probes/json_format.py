"""The JSON of `coldfork probe`: schema_version 1, stable, described by `schemas/probe.schema.json`.

Every module stands on a line of its own, so that two outputs can be compared with `diff`.
"""

from __future__ import annotations

import json
from typing import Any

from coldfork.model.probes import Failure, ModuleProbe, Probing, Wake
from coldfork.model.states import Frame, ImportSite, Waker
from coldfork.report.shared.characters import well_formed
from coldfork.report.shared.options import Options

SCHEMA_VERSION = 1


def render(probing: Probing, options: Options) -> str:
    """Write the result as JSON in plain ASCII, which no stream can garble."""
    parts = [f"  {json.dumps(key)}: {_value(value)}" for key, value in document(probing, options).items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def document(probing: Probing, options: Options) -> dict[str, Any]:
    """The result as JSON objects, keys in the order of the schema."""
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "coldfork", "version": options.version},
        "device": probing.device,
        "python": well_formed(probing.python),
        "forked": probing.forked,
        "seconds": round(probing.seconds, 3),
        "interrupted": probing.interrupted,
        "left": [well_formed(module) for module in probing.left],
        "modules": [module_object(probe) for probe in probing.modules],
    }


def module_object(probe: ModuleProbe) -> dict[str, Any]:
    """One module as a JSON object."""
    return {
        "module": well_formed(probe.module),
        "status": probe.status.value,
        "reason": _optional(probe.reason),
        "accelerator": _optional(probe.accelerator),
        "level": probe.level and probe.level.value,
        "woken_by": probe.waker and _waker_object(probe.waker),
        "wakes": [_wake_object(wake) for wake in probe.wakes],
        "error": probe.failure and _failure_object(probe.failure),
        "output": well_formed(probe.output),
        "modules_loaded": probe.modules_loaded,
        "seconds": round(probe.seconds, 4),
    }


def _waker_object(waker: Waker) -> dict[str, Any]:
    return {
        "module": _optional(waker.module),
        "path": _optional(waker.path),
        "line": waker.line,
        "function": _optional(waker.function),
        "call": _optional(waker.call),
        "thread": well_formed(waker.thread),
        "import_chain": [_site_object(site) for site in waker.import_chain],
        "stack": [_frame_object(frame) for frame in waker.stack],
    }


def _site_object(site: ImportSite) -> dict[str, Any]:
    return {"module": well_formed(site.module), "path": _optional(site.path), "line": site.line}


def _frame_object(frame: Frame) -> dict[str, Any]:
    return {"path": well_formed(frame.path), "line": frame.line, "function": well_formed(frame.function)}


def _wake_object(wake: Wake) -> dict[str, Any]:
    return {
        "accelerator": wake.accelerator,
        "level": wake.level and wake.level.value,
        "module": _optional(wake.module),
    }


def _failure_object(failure: Failure) -> dict[str, Any]:
    return {
        "type": well_formed(failure.type),
        "message": well_formed(failure.message),
        "stack": [_frame_object(frame) for frame in failure.stack],
    }


def _optional(text: str | None) -> str | None:
    return None if text is None else well_formed(text)


def _value(value: object) -> str:
    if not isinstance(value, list) or not value:
        return json.dumps(value)
    return "[\n" + ",\n".join(f"    {json.dumps(item)}" for item in value) + "\n  ]"
