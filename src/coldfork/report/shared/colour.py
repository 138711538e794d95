"""Colours in the text output. Only this module imports rich, and only if colours are wanted."""

from __future__ import annotations

from rich.color import ColorSystem
from rich.style import Style

_STYLES = {
    "error": "bold red",
    "warning": "bold yellow",
    "note": "bold blue",
    "title": "bold",
    "place": "cyan",
    "quiet": "dim",
    "help": "green",
    "clean": "bold green",
}


def paint(style: str, text: str) -> str:
    """Return the text in a named style; blank text and text in an unknown style are returned unchanged."""
    definition = _STYLES.get(style)
    if definition is None or not text.strip():
        return text
    return Style.parse(definition).render(text, color_system=ColorSystem.STANDARD)
