"""The bar: on a terminal and below a cell, with the share, the rate and the time that is left."""

from __future__ import annotations

import io
from contextlib import redirect_stderr

import pytest

from coldfork.graphs.surroundings import ProgressBar, teller


class OutStream(io.StringIO):
    """A stream of a notebook's kernel, which is no terminal."""


@pytest.fixture
def below_a_cell(monkeypatch: pytest.MonkeyPatch) -> OutStream:
    monkeypatch.setattr(OutStream, "__module__", "ipykernel.iostream")
    return OutStream()


def test_a_cell_shows_how_much_is_done_and_what_is_left(below_a_cell: OutStream) -> None:
    times = iter([0.0, 0.0, 2.0, 90.0])
    bar = ProgressBar("capturing", clock=lambda: next(times))
    with redirect_stderr(below_a_cell):
        bar.show(0, 4, "a batch with a name")
        bar.show(1, 4)
        bar.show(4, 4)
    lines = below_a_cell.getvalue().split("\r")[1:]
    assert [line.rstrip(" ") for line in lines] == [
        "capturing:   0%|                    | 0/4 [00:00<?, ?/s] a batch with a name",
        "capturing:  25%|█████               | 1/4 [00:02<00:06, 0.50/s]",
        "capturing: 100%|████████████████████| 4/4 [01:30<00:00, 0.04/s]\n",
    ]
    # The second line covers the first one.
    assert len(lines[1]) == len(lines[0])


def test_a_file_gets_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    ProgressBar().show(1, 2)
    teller(True)(1, 2, None)
    assert capsys.readouterr() == ("", "")


def test_whoever_wants_none_gets_none(below_a_cell: OutStream) -> None:
    with redirect_stderr(below_a_cell):
        teller(False)(1, 2, None)
        assert below_a_cell.getvalue() == ""
        teller(True)(1, 2, None)
    assert "1/2" in below_a_cell.getvalue()
