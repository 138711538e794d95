"""The guard's messages to the user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldfork.model.decisions import fork_judgement
from coldfork.model.forking.judgement import Judgement

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from coldfork.model.decisions import Reason
    from coldfork.model.states import Waker

_UNSEEN = "nothing in the child can detect that, so this is the only warning"
_STRICT = 'it is allowed because it may work; guard("strict") refuses it'


def refusal(call: str, reasons: Sequence[Reason]) -> str:
    """Return the message of a refused fork: the reasons, their causes and the remedies."""
    first = f"{call} was refused, and no process was started: {clauses(reasons)}"
    return "\n".join([first, *_conditions(reasons), *_below(reasons)])


def line(call: str, reasons: Sequence[Reason]) -> str:
    """Return the message in one line, for a fork that is not refused."""
    help_ = next(iter(_remedies(reasons)), None)
    story = [f"{call} hands its child what it cannot use: {clauses(reasons)}", *conditions(reasons)]
    if help_:
        story.append(f"help: {help_}")
    if fork_judgement(reasons) is Judgement.BREAKS_IF:
        story.append(_STRICT)
    return "; ".join(story)


def note(reasons: Sequence[Reason], parent: int, place: tuple[str, int] | None = None) -> str:
    """Return the note for a framework's error in a poisoned child, with the facts about its parent."""
    where = "" if place is None else f", at {place[0]}:{place[1]},"
    first = f"coldfork: this process was forked from process {parent}{where} despite this:"
    texts = dict.fromkeys(f"  {reason.text}" for reason in reasons)
    return "\n".join([first, *texts, *_below(reasons, blocks=False)])


def conditions(reasons: Sequence[Reason]) -> list[str]:
    """Return each condition that breaks the child, once, and say if the child cannot detect it."""
    told = dict.fromkeys(reason.condition for reason in reasons if reason.condition is not None)
    unseen = [one for one in reasons if one.judgement is Judgement.BREAKS_IF and not one.watched]
    return [*filter(None, told), _UNSEEN] if unseen else [*filter(None, told)]


def clauses(reasons: Sequence[Reason]) -> str:
    """Return the reasons as one sentence."""
    return "; ".join(dict.fromkeys(reason.text for reason in reasons))


def _conditions(reasons: Sequence[Reason]) -> Iterator[str]:
    for condition in conditions(reasons):
        yield f"  = {condition}"


def _below(reasons: Sequence[Reason], *, blocks: bool = True) -> Iterator[str]:
    shown: set[int] = set()
    for reason in reasons:
        if reason.waker is not None and id(reason.waker) not in shown:
            shown.add(id(reason.waker))
            yield from _waking(reason.accelerator or "it", reason.waker)
        elif reason.waker is None and reason.accelerator is not None:
            yield f"  what woke {reason.accelerator} was not observed; to find out: coldfork run PROGRAM"
    for remedy in _remedies(reasons):
        yield f"  = help: {remedy}"
    if blocks:
        yield '  = or allow it: with coldfork.allow_fork("reason"): ...'


def _remedies(reasons: Sequence[Reason]) -> list[str]:
    """Return the remedies that help against all of the reasons at once."""
    offered = [remedy for reason in reasons for remedy in reason.remedies]
    every = [remedy for remedy in offered if all(remedy in reason.remedies for reason in reasons)]
    return list(dict.fromkeys(every or offered))


def _waking(accelerator: str, waker: Waker) -> Iterator[str]:
    if waker.module is None and waker.line is None:
        yield f"  {accelerator} was woken by one of several running threads: {_threads(waker)}"
        return
    yield f"  {accelerator} was woken by {_who(waker)}, on {waker.thread}"
    for number, site in enumerate(waker.import_chain, 1):
        yield f"    {number}. {site.module}{_place(site.path, site.line)}"
    for frame in waker.stack:
        yield f"       {frame.function}{_place(frame.path, frame.line)}"
    if waker.line is None and waker.module == "__main__":
        yield "    outside any import; to find the line: coldfork run --exact __main__ PROGRAM"
    elif waker.line is None:
        yield f"    to find the line: coldfork probe {waker.module}"


def _who(waker: Waker) -> str:
    what = f"{waker.call} in {waker.module}" if waker.call else str(waker.module)
    return f"{what}{_place(waker.path, waker.line)}"


def _threads(waker: Waker) -> str:
    return waker.thread.removeprefix("unknown: ")


def _place(path: str | None, number: int | None) -> str:
    if path is None:
        return ""
    return f"  {path}:{number}" if number is not None else f"  {path}"
