"""Reads a `Recording` from a file; raises an error if the file does not contain one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from coldfork.model.errors import UsageError
from coldfork.model.recordings import SCHEMA_VERSION
from coldfork.model.timelines import Recording
from coldfork.report.recordings.assembly.lines import Lines, header, words
from coldfork.report.recordings.assembly.lives import assemble
from coldfork.report.shared.garbage import uncollected

#: coldfork writes no line as long as this; the limit keeps files without line ends from filling the memory.
LONGEST_LINE = 16 * 1024 * 1024


def read(file: Path) -> Recording:
    """Return the recording in a file, up to where it was cut off."""
    try:
        with file.open("rb") as stream, uncollected():
            return recording(iter(lambda: stream.readline(LONGEST_LINE), b""), str(file))
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror or error}") from None


def recording(content: Iterable[bytes], name: str) -> Recording:
    """Return the recording that these lines describe."""
    rest = iter(content)
    head = _header(next(rest, b""), name)
    lines = Lines(rest)
    processes, cut, troubles = assemble(lines)
    return Recording(
        name=name,
        tool=_tool(head.get("tool")),
        started=_text(head.get("started")),
        python=_text(head.get("python")),
        platform=_text(head.get("platform")),
        command=words(head.get("command")),
        cwd=_text(head.get("cwd")),
        device=_text(head.get("device")),
        follow=head.get("follow") is not False,
        environment=_environment(head.get("environment")),
        processes=processes,
        cut=cut,
        troubles=troubles,
        damage=lines.damage,
    )


def _header(line: bytes, name: str) -> dict[str, Any]:
    if not line.strip():
        raise UsageError(f"{name} is empty: it holds no recording")
    head = header(line)
    if head is None and line.startswith(b'{"') and not line.endswith(b"\n"):
        raise UsageError(f"{name} cannot be read: it was cut off within its first line")
    if head is None:
        raise UsageError(f"{name} is not a recording: its first line is not a recording's header")
    version = head["schema_version"]
    if version > SCHEMA_VERSION:
        raise UsageError(
            f"{name} was recorded by a newer coldfork (schema_version {version}); "
            f"this one reads {SCHEMA_VERSION} and older"
        )
    return head


def _text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _tool(value: object) -> str:
    if isinstance(value, dict):
        return " ".join(_text(value.get(key)) for key in ("name", "version")).strip()
    return _text(value)


def _environment(value: object) -> dict[str, str]:
    return {name: _text(setting) for name, setting in value.items()} if isinstance(value, dict) else {}
