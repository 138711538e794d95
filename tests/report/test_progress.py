"""The progress bar: seen only by who watches, gone at the end, never in the way."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest

from coldfork.report.shared.progress import ProgressBar


class Terminal(io.StringIO):
    """A stream that says it is a terminal and can show what its line looks like."""

    encoding = "ascii"

    def isatty(self) -> bool:
        return True

    def visible(self) -> str:
        """Return the one line's contents after everything written so far."""
        shown: list[str] = []
        column = 0
        for character in self.getvalue():
            if character == "\r":
                column = 0
                continue
            shown[column : column + 1] = [character]
            column += 1
        return "".join(shown).rstrip()


class BrokenTerminal(Terminal):
    """A terminal that was closed under the program's feet."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


def seconds(step: float) -> Iterator[float]:
    now = 0.0
    while True:
        yield now
        now += step


def bar(stream: Terminal | None, *, step: float = 1.0, width: int = 80, guesses: bool = False) -> ProgressBar:
    clock = seconds(step)
    return ProgressBar(stream, clock=lambda: next(clock), width=lambda: width, guesses=guesses)


def test_it_shows_stage_and_count_and_leaves_nothing() -> None:
    terminal = Terminal()
    with bar(terminal) as progress:
        progress.update("reading", 472, 945)
        assert terminal.visible() == "reading [###########-------------] 472/945"
        progress.update("linking", 7, 0)
        assert terminal.visible() == "linking 7"
        progress.update("following imports", 472, 945, "engine.core")
        assert terminal.visible() == "following imports [###########-------------] 472/945  engine.core"
        progress.update("linking", 8, 0, "engine.api")
        assert terminal.visible() == "linking 8  engine.api"
    assert terminal.visible() == ""


def test_long_work_says_how_long_it_will_take_yet() -> None:
    terminal = Terminal()
    with bar(terminal, step=3.0, guesses=True) as progress:
        progress.update("importing", 0, 100, "a")
        assert terminal.visible() == "importing [------------------------] 0/100  a"
        progress.update("importing", 2, 100, "b")
        assert terminal.visible() == "importing [------------------------] 2/100, about 5 min left  b"
        progress.update("importing", 99, 100, "c")
        assert terminal.visible() == "importing [#######################-] 99/100  c"
        progress.update("importing", 100, 100)
        assert terminal.visible() == "importing [########################] 100/100"
    with bar(terminal, step=3.0) as progress:
        progress.update("reading", 2, 100)
        assert terminal.visible() == "reading [------------------------] 2/100", "there may be more to read"


def test_it_writes_no_escape_sequences_and_fits_the_width() -> None:
    terminal = Terminal()
    progress = bar(terminal, width=30)
    progress.update("reading \x1b[31mä", 1, 945)
    progress.update("reading", 2, 945, "\x1b[31mä/a/very/long/path/that/does/not/fit.py")
    progress.close()
    assert "\x1b" not in terminal.getvalue()
    assert terminal.getvalue().isascii()
    assert all(len(line) < 30 for line in terminal.getvalue().split("\r"))


def test_a_fast_run_shows_nothing() -> None:
    terminal = Terminal()
    progress = bar(terminal, step=0.001)
    for done in range(50):
        progress.update("reading", done, 50)
    progress.close()
    assert terminal.getvalue() == ""


def test_it_writes_at_most_ten_times_a_second() -> None:
    terminal = Terminal()
    progress = bar(terminal, step=0.01)
    for done in range(1000):
        progress.update("reading", done, 1000)
    assert 50 <= terminal.getvalue().count("\r") <= 101


def test_a_stream_that_is_no_terminal_gets_nothing() -> None:
    stream = io.StringIO()
    progress = ProgressBar(stream, clock=iter([0.0, 9.0]).__next__)
    progress.update("reading", 1, 2)
    progress.close()
    assert stream.getvalue() == ""


@pytest.mark.parametrize("kind", ["none", "closed", "broken"])
def test_nothing_it_does_raises(kind: str) -> None:
    stream = {"none": None, "closed": Terminal(), "broken": BrokenTerminal()}[kind]
    if kind == "closed" and stream is not None:
        stream.close()
    progress = bar(stream)
    progress.update("reading", 1, 2)
    progress.update("reading", 2, 2)
    progress.close()
    progress.update("reading", 3, 2)
    progress.close()


def test_a_stream_closed_in_between_turns_it_silent() -> None:
    terminal = Terminal()
    progress = bar(terminal)
    progress.update("reading", 1, 2)
    terminal.close()
    progress.update("reading", 2, 2)
    progress.close()


def test_updates_after_the_end_say_nothing() -> None:
    terminal = Terminal()
    progress = bar(terminal)
    progress.close()
    progress.update("reading", 1, 2)
    assert terminal.getvalue() == ""


def test_a_terminal_without_a_size_gets_a_usual_one() -> None:
    terminal = Terminal()
    clock = seconds(1.0)
    progress = ProgressBar(terminal, clock=lambda: next(clock))
    progress.update("a stage with a name as long as nobody would ever give it, really not, no, never", 1, 2)
    assert 0 < len(terminal.visible()) < 80
