"""What terminals, containers and collectors put around a line: colours, JSON, time stamps of Kubernetes."""

from __future__ import annotations

import json
import re

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and movements of the cursor
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles and links
    r"|\x1b[@-Z\\^_=>()][0AB]?"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]"
)
_ESCAPED_COLOUR = re.compile(r"(?:\\x1b|\\u001b|\\033|\^\[|#033)\[[0-9;]*m")
"""What loggers that fear control characters make of a colour."""
_KUBERNETES = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d) (?:stdout|stderr) [FP] ")
_KEYS = ("log", "message", "msg", "textPayload", "MESSAGE", "body")
"""Where Docker, fluentd, Google, journald and OpenTelemetry keep the line."""


def opened(text: str) -> tuple[str, ...]:
    """The lines inside a line of a log; mostly itself."""
    if text.startswith("{") and text.endswith("}"):
        inside = _inside(text)
        if inside is not None:
            return tuple(line for part in inside.splitlines() or ("",) for line in opened(part))
    match = _KUBERNETES.match(text)
    return (_plain(text[match.end() :] if match else text),)


def _inside(text: str) -> str | None:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    return next((said for key in _KEYS if isinstance(said := document.get(key), str)), None)


def _plain(text: str) -> str:
    # What a progress bar wrote over with a carriage return is gone from the screen, and from here.
    text = text.rstrip("\r").rpartition("\r")[2]
    if "\x1b" in text or not text.isprintable():
        text = _ESCAPES.sub("", text)
    if "[" in text and ("\\" in text or "^[" in text or "#033" in text):
        text = _ESCAPED_COLOUR.sub("", text)
    return text.expandtabs(8)
