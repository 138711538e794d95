"""Device states and decisions as notebooks show them: HTML tables without scripts or own colours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from coldfork.model.decisions import Decision, Reason
from coldfork.model.states import State, Waker
from coldfork.report.shared.effects import inside

_LEFT = ' style="text-align: left"'


def states_html(states: Iterable[State]) -> str:
    """Return the state of each accelerator as HTML, with the line that woke it."""
    rows = [
        (state.accelerator, _status(state), waker_text(state.waker), state.reason or "") for state in states
    ]
    return _table(("accelerator", "state", "woken by", "because"), rows)


def decision_html(decision: Decision) -> str:
    """Return the chosen start method as HTML, with the arguments against the others."""
    title = f"<strong>{escape(decision.method)}</strong>"
    if decision.target:
        title += f" for {escape(decision.target)}"
    if not decision.reasons:
        return f"<p>{title}: {escape(decision.because)}</p>"
    return f"<p>{title}</p>" + _table(("against", "because"), map(_reason, decision.reasons))


def states_text(states: Iterable[State]) -> str:
    """Return the states as plain text: one line for each accelerator that is present."""
    lines = [
        "  ".join(
            part for part in (f"{state.accelerator:<10} {_status(state)}", waker_text(state.waker)) if part
        )
        for state in states
        if state.status != "absent"
    ]
    return "\n".join(lines) or "nothing that a fork could break is loaded"


def waker_text(waker: Waker | None) -> str:
    """Return what woke an accelerator, in a few words; empty if the wake was not observed."""
    if waker is None:
        return ""
    if waker.path is None:
        return waker.module or waker.thread
    place = waker.path if waker.line is None else f"{waker.path}, line {waker.line}"
    within = inside(waker.function)
    return f"{place}, in {within}" if within else place


def _status(state: State) -> str:
    return f"{state.status} ({state.level})" if state.level else str(state.status)


def _reason(reason: Reason) -> tuple[str, str]:
    return reason.against, reason.text


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    titles = "".join(f"<th{_LEFT}>{escape(title)}</th>" for title in head)
    body = "".join(
        "<tr>" + "".join(f"<td{_LEFT}>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"
