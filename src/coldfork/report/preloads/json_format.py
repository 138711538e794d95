"""The JSON of `coldfork preload`: schema_version 1, stable, described by `schemas/preload.schema.json`."""

from __future__ import annotations

from typing import Any

from coldfork.model.preloads import Doubt, Kept, LeftOut, Preloading, VariableUse
from coldfork.report.preloads.text import remedy
from coldfork.report.shared.characters import well_formed
from coldfork.report.shared.json_text import dump, frame_object, headed, optional
from coldfork.report.shared.options import Options


def render(result: Preloading, options: Options) -> str:
    """Write the result as JSON in plain ASCII, which no stream can garble."""
    contents = {
        "device": result.device,
        "python": well_formed(result.python),
        "file": optional(result.file),
        "wanted": [well_formed(module) for module in result.wanted],
        "clean": result.holds,
        "modules_loaded": result.loaded,
        "import_seconds": round(result.total, 4),
        "rest_seconds": None if result.rest is None else round(result.rest, 4),
        "share": None if result.share is None else round(result.share, 4),
        "trouble": optional(result.trouble),
        "seconds": round(result.seconds, 3),
        "modules": [_kept(one) for one in result.kept],
        "left_out": [_left_out(one) for one in result.left_out],
        "reads": [_variable(one) for one in result.reads],
        "writes": [_variable(one) for one in result.writes],
        "seeds": [well_formed(name) for name in result.seeds],
        "unread": optional(result.unread),
        "doubts": [_doubt(one) for one in result.doubts],
    }
    return dump(headed(contents, options))


def _kept(kept: Kept) -> dict[str, Any]:
    return {
        "module": well_formed(kept.module),
        "seconds": round(kept.seconds, 4),
        "tried": [well_formed(what) for what in kept.tried],
    }


def _left_out(left: LeftOut) -> dict[str, Any]:
    return {
        "module": well_formed(left.module),
        "stain": left.stain.value,
        "reason": well_formed(left.reason),
        "path": optional(left.path),
        "line": left.line,
        "call": optional(left.call),
        "import_chain": [
            {"module": well_formed(site.module), "path": optional(site.path), "line": site.line}
            for site in left.chain
        ],
        "stack": [frame_object(frame) for frame in left.stack],
        "seconds": round(left.seconds, 4),
        "remedy": remedy(left),
    }


def _variable(use: VariableUse) -> dict[str, Any]:
    return {
        "name": well_formed(use.name),
        "module": optional(use.module),
        "path": optional(use.path),
        "line": use.line,
    }


def _doubt(doubt: Doubt) -> dict[str, Any]:
    return {
        "module": well_formed(doubt.module),
        "accelerator": doubt.accelerator,
        "verdict": doubt.verdict,
        "condition": optional(doubt.condition),
        "path": well_formed(doubt.path),
        "line": doubt.line,
    }
