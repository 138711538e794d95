"""Writes results to standard output or a file, in any encoding; colours are used only on terminals."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from coldfork.model.errors import UsageError
from coldfork.report.shared import terminals


def terminal_width() -> int | None:
    """Return the terminal width of standard output, or the width that a demonstration has set; None without
    either.
    """
    # Not COLUMNS: output into a pipe must not depend on variables that shells and test runners export.
    told = os.environ.get("COLDFORK_COLUMNS", "")
    return terminals.columns(sys.stdout) or (int(told) if told.isdecimal() and told != "0" else None)


def wants_colour(
    choice: str, environment: Mapping[str, str] = os.environ, *, stream: TextIO | None = None
) -> bool:
    """Return whether to use colours: by `--color`, NO_COLOR, FORCE_COLOR, or whether the stream is a
    terminal.

    The stream is standard output unless another one is given.
    """
    if choice != "auto":
        return choice == "always"
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    watched = terminals.is_terminal(sys.stdout if stream is None else stream)
    return watched and environment.get("TERM") != "dumb"


def link_form(choice: str, environment: Mapping[str, str] = os.environ, stream: TextIO | None = None) -> str:
    """Return the form of links to files on a stream, standard output by default; empty if it shows none."""
    if choice == "never" or not terminals.is_terminal(sys.stdout if stream is None else stream):
        return ""
    from coldfork.report.shared.links import link_form

    return link_form(environment)


def encoding() -> str:
    """Return the encoding of standard output."""
    return getattr(sys.stdout, "encoding", None) or "utf-8"


def write(text: str, encoding: str | None = None) -> None:
    """Write to standard output; a closed pipe is not an error. `encoding` overrides the stream's."""
    stream = sys.stdout
    if stream is not None:
        write_bytes(text.encode(encoding or stream.encoding or "utf-8", "backslashreplace"))


def write_bytes(content: bytes) -> None:
    """Write bytes to standard output."""
    stream = sys.stdout
    if stream is None:
        return
    try:
        stream.flush()
        stream.buffer.write(content)
        stream.buffer.flush()
    except BrokenPipeError:
        mute()
    except (OSError, ValueError) as error:
        mute()
        raise UsageError(f"cannot write to standard output: {getattr(error, 'strerror', error)}") from None


def save(text: str, file: Path, *, private: bool = False) -> None:
    """Write text to a file, whole or not at all; only its owner may read a private file."""
    save_bytes(text.encode("utf-8", "backslashreplace"), file, mode=0o600 if private else 0o666)


def save_bytes(content: bytes, file: Path, *, mode: int = 0o666) -> None:
    """Write bytes to a file, whole or not at all; with a `mode` of 0, the file keeps its permissions."""
    target = file.resolve()
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        if target.exists() and not target.is_file():
            # A new file cannot replace a pipe or a device. For a folder, this raises an error.
            target.write_bytes(content)
            return
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            with os.fdopen(os.open(beside, flags, mode or 0o600), "wb") as stream:
                stream.write(content)
            if not mode:
                beside.chmod(target.stat().st_mode & 0o7777)
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from None


def note(text: str) -> None:
    """Print a message on standard error."""
    try:
        if sys.stderr is not None:
            spoken = getattr(sys.stderr, "encoding", None) or "utf-8"
            sys.stderr.write(f"coldfork: {text}\n".encode(spoken, "backslashreplace").decode(spoken))
            sys.stderr.flush()
    except (OSError, ValueError):
        mute(sys.stderr)


def mute(stream: TextIO | None = None) -> None:
    """Discard all further output, so that the interpreter's final flush does not fail.

    A failure of that flush would become the exit status. The stream is standard output unless another one is
    given.
    """
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), (sys.stdout if stream is None else stream).fileno())
