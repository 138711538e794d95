"""Writes `report.json`: whole or not at all, whoever is killed while it is written.

The supervisor of a script lives on the standard library's lightest modules, and so does this.
"""

from __future__ import annotations

import os

from coldfork.observe.recording.events import decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "report.json"
_UNFINISHED = ".report.json.new"


def write(folder: str, report: dict[str, Any]) -> None:
    """Replace the report in a run directory; a reader sees the old one or the new one."""
    lines = [f"  {_text(key)}: {_text(value)}" for key, value in report.items()]
    place = os.path.join(folder, _UNFINISHED)
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(("{\n" + ",\n".join(lines) + "\n}\n").encode("ascii"))
    os.replace(place, os.path.join(folder, NAME))


def read(folder: str) -> dict[str, Any] | None:
    """The report in a run directory; None where there is none that can be read."""
    try:
        with open(os.path.join(folder, NAME), "rb") as stream:
            value = decode(stream.read().decode("ascii"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def tidy(folder: str) -> None:
    """Take away what somebody killed in the middle of `write` left behind."""
    try:
        os.unlink(os.path.join(folder, _UNFINISHED))
    except OSError:
        pass


def _text(value: object) -> str:
    # What there is for events writes objects only; this is the value of one with a single key.
    return encode({"_": value}).decode("ascii").strip().removeprefix('{"_":').removesuffix("}")
