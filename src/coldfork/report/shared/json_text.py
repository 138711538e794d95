"""Parts that all JSON reports share: one item per line, plain ASCII, and the same keys for wakers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from coldfork.model.states import Frame, Waker
from coldfork.report.shared.characters import well_formed
from coldfork.report.shared.options import Options

SCHEMA_VERSION = 1
"""The version of every schema: so far no change has altered the meaning of a field."""


def headed(contents: Mapping[str, Any], options: Options) -> dict[str, Any]:
    """Return a complete document: the schema's version, the tool's version, then the content in schema
    order.
    """
    tool = {"name": "coldfork", "version": options.version}
    return {"schema_version": SCHEMA_VERSION, "tool": tool, **contents}


def dump(document: Mapping[str, Any]) -> str:
    """Write a JSON object with one line for each key and each item of a list, so that `diff` works
    well.

    The text is plain ASCII, which no stream can garble.
    """
    parts = [f"  {json.dumps(key)}: {_value(value)}" for key, value in document.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def optional(text: str | None) -> str | None:
    """Return text that any JSON reader accepts; None stays None."""
    return None if text is None else well_formed(text)


def frame_object(frame: Frame) -> dict[str, Any]:
    """Return a call on a stack as a JSON object."""
    return {"path": well_formed(frame.path), "line": frame.line, "function": well_formed(frame.function)}


def waker_object(waker: Waker) -> dict[str, Any]:
    """Return the waker of a device as a JSON object."""
    return {
        "module": optional(waker.module),
        "path": optional(waker.path),
        "line": waker.line,
        "function": optional(waker.function),
        "call": optional(waker.call),
        "thread": well_formed(waker.thread),
        "import_chain": [
            {"module": well_formed(site.module), "path": optional(site.path), "line": site.line}
            for site in waker.import_chain
        ],
        "stack": [frame_object(frame) for frame in waker.stack],
    }


def _value(value: object) -> str:
    if not isinstance(value, list) or not value:
        return json.dumps(value)
    return "[\n" + ",\n".join(f"    {json.dumps(item)}" for item in value) + "\n  ]"
