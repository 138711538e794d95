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

from coldfork.cli.front import columns_of_output
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


def test_a_terminal_is_as_wide_as_it_is(terminal: TextIO, monkeypatch: pytest.MonkeyPatch) -> None:
    """A demonstration sets a width for the output that it catches, and not for the terminal."""
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("COLDFORK_COLUMNS", "40")
    assert terminal_width() == 97


@pytest.mark.parametrize("said", ["", "0", "wide", "-5"])
def test_a_width_that_says_nothing_is_none(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    monkeypatch.setenv("COLDFORK_COLUMNS", said)
    assert terminal_width() is None


def test_the_help_is_as_wide_as_click_would_make_it(
    terminal: TextIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "__stdout__", terminal)
    for said, width in {"50": 50, "": 97, "0": 97, "wide": 97}.items():
        monkeypatch.setenv("COLUMNS", said)
        assert columns_of_output() == width
    monkeypatch.delenv("COLUMNS")
    fcntl.ioctl(terminal.fileno(), termios.TIOCSWINSZ, struct.pack("HHHH", 0, 0, 0, 0))
    assert columns_of_output() == 80
    for stream in (None, io.StringIO()):
        monkeypatch.setattr(sys, "__stdout__", stream)
        assert columns_of_output() == 80
