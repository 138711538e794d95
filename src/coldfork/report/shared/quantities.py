"""How reports write counts and durations."""

from __future__ import annotations


def plural(count: int, noun: str) -> str:
    """Return `1 module`, `2 modules`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def duration(seconds: float) -> str:
    """Return a duration in everyday units: `0.4 ms`, `412 ms`, `3.21 s`, `5 min 03 s`, `2 h 05 min`.

    It has at most three digits, because a second run would not confirm more.
    """
    if seconds == 0:
        return "0 s"
    if seconds < 0.00995:
        return f"{seconds * 1000:.1f} ms"
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 99.95:
        return f"{seconds:.2f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 100:
        return f"{minutes} min {rest:02} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min"


def approximately(seconds: float) -> str:
    """Return an estimated duration, rounded to a suitable precision: `20 s`, `4 min`, `2 h`."""
    if seconds < 90:
        return f"{max(5, round(seconds / 5) * 5)} s"
    if seconds < 90 * 60:
        return f"{round(seconds / 60)} min"
    return f"{round(seconds / 3600)} h"
