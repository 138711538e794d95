"""Places as links: only on a terminal that opens them, and without a difference to how lines are wrapped."""

from __future__ import annotations

from pathlib import Path

import pytest

from coldfork.report.shared.links import link_form, linking
from coldfork.report.shared.options import Options
from coldfork.report.shared.sheets import Sheet

FILE = "file://{host}{path}"


@pytest.mark.parametrize(
    ("environment", "form"),
    [
        ({}, ""),
        ({"TERM": "xterm-256color"}, ""),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7603"}, FILE),
        ({"VTE_VERSION": "4205"}, ""),
        ({"TERM_PROGRAM": "iTerm.app"}, FILE),
        ({"TERM_PROGRAM": "Apple_Terminal"}, ""),
        ({"TERM_PROGRAM": "vscode"}, "vscode://file{path}:{line}"),
        ({"TERM": "xterm-kitty", "KITTY_WINDOW_ID": "1"}, FILE + "#{line}"),
        ({"VTE_VERSION": "7603", "TMUX": "/run/tmux,1,0"}, ""),
        ({"VTE_VERSION": "7603", "TMUX": "/run/tmux,1,0", "FORCE_HYPERLINK": "1"}, FILE),
        ({"VTE_VERSION": "7603", "FORCE_HYPERLINK": "0"}, ""),
        ({"VTE_VERSION": "7603", "NO_COLOR": "1"}, ""),
        ({"VTE_VERSION": "7603", "TERM": "dumb"}, ""),
    ],
)
def test_links_are_for_terminals_that_show_them(environment: dict[str, str], form: str) -> None:
    assert link_form(environment) == form


def test_the_place_of_a_file_is_a_link_and_nothing_else_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a b.py").touch()
    paint = linking(lambda style, text: text, "vscode://file{path}:{line}")
    address = f"vscode://file{tmp_path.as_posix()}/a%20b.py:12"
    assert paint("place", "a b.py:12") == f"\x1b]8;;{address}\x1b\\a b.py:12\x1b]8;;\x1b\\"
    assert paint("place", "gone.py:12") == "gone.py:12"
    assert paint("title", "a b.py:12") == "a b.py:12"


def test_a_link_takes_no_room_on_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "engine.py").touch()
    plain, linked = Sheet(Options(width=60)), Sheet(Options(width=60, links=FILE))
    words = "woken at {} while the module was imported, by a call that needs the device"

    def lines(sheet: Sheet) -> list[str]:
        return list(sheet.flow(words.format(sheet.paint("place", "engine.py:3")), 4))

    assert len(lines(plain)) == len(lines(linked)) == 2
    assert lines(plain)[1] == lines(linked)[1]
