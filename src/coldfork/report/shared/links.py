"""Places as links that a terminal opens (OSC 8), where it shows them; elsewhere they stay plain text."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import quote

#: What `TERM_PROGRAM` and `TERM` say on terminals that show links.
_PROGRAMS = frozenset({"ghostty", "Hyper", "iTerm.app", "rio", "Tabby", "vscode", "WezTerm", "zed"})
_TERMS = frozenset({"alacritty", "contour", "foot", "foot-extra", "wezterm", "xterm-ghostty", "xterm-kitty"})
#: Variables that only terminals which show links set.
_MARKS = ("KITTY_WINDOW_ID", "KONSOLE_VERSION", "WT_SESSION")
_FIRST_VTE = 5000
_PLACE = re.compile(r"(?P<path>.+?)(?::(?P<line>[0-9]+))?")


def link_form(environment: Mapping[str, str]) -> str:
    """Return the form of a link for the terminal that these variables describe; empty if it shows none."""
    forced = environment.get("FORCE_HYPERLINK", "")
    if environment.get("NO_COLOR") or forced == "0" or environment.get("TERM") == "dumb":
        return ""
    if not (forced or _shows_links(environment)):
        return ""
    if environment.get("TERM_PROGRAM") == "vscode":
        return "vscode://file{path}:{line}"
    return "file://{host}{path}#{line}" if "KITTY_WINDOW_ID" in environment else "file://{host}{path}"


def linking(paint: Callable[[str, str], str], form: str) -> Callable[[str, str], str]:
    """Return a function that paints text as `paint` does, and makes links of places of files that exist."""
    host = getattr(os.uname(), "nodename", "") if hasattr(os, "uname") else ""

    def painted(style: str, text: str) -> str:
        shown = paint(style, text)
        match = _PLACE.fullmatch(text) if style == "place" else None
        if match is None or not Path(match["path"]).is_file():
            return shown
        path = quote(Path(match["path"]).absolute().as_posix())
        address = form.format(host=host, path=path, line=match["line"] or 1)
        return f"\x1b]8;;{address}\x1b\\{shown}\x1b]8;;\x1b\\"

    return painted


def _shows_links(environment: Mapping[str, str]) -> bool:
    if "TMUX" in environment or "STY" in environment:
        return False  # whether they pass links on depends on their version and what they run in
    vte = environment.get("VTE_VERSION", "")
    return (
        environment.get("TERM_PROGRAM") in _PROGRAMS
        or environment.get("TERM") in _TERMS
        or any(mark in environment for mark in _MARKS)
        or (vte.isdecimal() and int(vte) >= _FIRST_VTE)
    )
