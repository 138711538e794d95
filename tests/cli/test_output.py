"""Colour and width: each stream is asked about itself."""

from __future__ import annotations

import fcntl
import io
import os
import struct
import sys
import termios
from collections.abc import Iterator
from typing import TextIO

import pytest

from coldfork.cli.output import terminal_width, wants_colour
from coldfork.report.shared.terminals import columns, is_terminal


@pytest.fixture
def terminal() -> Iterator[TextIO]:
    """A stream to a terminal of 97 columns."""
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 97, 0, 0))
    with os.fdopen(slave, "w") as stream:
        yield stream
    os.close(master)


def test_a_terminal_has_columns(terminal: TextIO) -> None:
    assert (is_terminal(terminal), columns(terminal)) == (True, 97)


def test_a_terminal_that_nobody_has_given_a_size(terminal: TextIO) -> None:
    fcntl.ioctl(terminal.fileno(), termios.TIOCSWINSZ, struct.pack("HHHH", 0, 0, 0, 0))
    assert columns(terminal) is None


def test_other_streams_are_no_terminals() -> None:
    closed = io.StringIO()
    closed.close()
    for stream in (None, io.StringIO(), closed):
        assert (is_terminal(stream), columns(stream)) == (False, None)


def test_the_stream_given_decides(terminal: TextIO, monkeypatch: pytest.MonkeyPatch) -> None:
    """The output of `run` on standard error is coloured there although standard output goes into a file."""
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert wants_colour("auto", {}, stream=terminal)
    assert not wants_colour("auto", {})
    assert not wants_colour("auto", {"TERM": "dumb"}, stream=terminal)
    assert not wants_colour("auto", {"NO_COLOR": "1"}, stream=terminal)


def test_a_shell_that_exports_its_width_changes_no_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert terminal_width() is None
    monkeypatch.setenv("COLDFORK_COLUMNS", "40")
    assert terminal_width() == 40
