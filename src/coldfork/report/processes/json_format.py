"""The JSON of `coldfork ps`: schema_version 1, stable, described by `schemas/ps.schema.json`.

Every process stands on a line of its own, so that two outputs can be compared with `diff`.
"""

from __future__ import annotations

from typing import Any

from coldfork.model.running.processes import Census, RunningPython, Threads
from coldfork.model.states import State
from coldfork.report.shared.characters import well_formed
from coldfork.report.shared.json_text import dump, optional, waker_object
from coldfork.report.shared.options import Options

SCHEMA_VERSION = 1


def render(census: Census, options: Options) -> str:
    """Write the processes as JSON in plain ASCII, which no stream can garble."""
    return dump(document(census, options))


def document(census: Census, options: Options) -> dict[str, Any]:
    """The processes as JSON objects, keys in the order of the schema."""
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "coldfork", "version": options.version},
        "moment": round(census.moment, 3),
        "asked": list(census.asked),
        "vanished": census.vanished,
        "processes": [_process(one) for one in census.processes],
    }


def _process(process: RunningPython) -> dict[str, Any]:
    return {
        "pid": process.pid,
        "parent": process.parent,
        "executable": optional(process.executable),
        "command": [well_formed(word) for word in process.command],
        "started": round(process.started, 2),
        "how": process.how.value,
        "reason": optional(process.reason),
        "role": process.role,
        "states": [_state(state) for state in process.states],
        "threads": process.threads and _threads(process.threads),
        "recording": optional(process.recording),
    }


def _state(state: State) -> dict[str, Any]:
    return {
        "accelerator": state.accelerator,
        "status": state.status.value,
        "level": state.level and state.level.value,
        "reason": optional(state.reason),
        "library": optional(state.library),
        "woken_by": state.waker and waker_object(state.waker),
    }


def _threads(threads: Threads) -> dict[str, Any]:
    return {
        "total": threads.total,
        "python": threads.python,
        "libraries": [{"library": well_formed(name), "threads": count} for name, count in threads.libraries],
        "untraced": threads.untraced,
        "reason": optional(threads.reason),
    }
