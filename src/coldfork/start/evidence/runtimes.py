"""Evidence from the runtimes of this process, which a forked child would inherit but could not use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldfork.model.decisions import Reason, Weight
from coldfork.model.forking import judgement
from coldfork.model.forking.judgement import NOTHING_KNOWN, Judgement
from coldfork.observe.forking import holdings
from coldfork.observe.forking.questions import known_deeds

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from coldfork.model.forking.judgement import Deed, Purpose
    from coldfork.model.states import Waker
    from coldfork.observe.forking.holding import Holding
    from coldfork.start.surroundings import Surroundings

SPAWN = "start the process with spawn: it begins without any of this"
BY_ITSELF = "preload nothing: let {} load the program in each process that it forks"
"""The remedy where no start method can be chosen."""
_LATER = "wake the device only in the processes that use it, after they have been started"
_FRESH = "fork from a fresh thread: neither it nor the child has a pool"
_PAUSE = "have libgomp release its pool before the fork: omp_pause_resource_all(omp_pause_hard)"
_LAYER = "choose another layer: NUMBA_THREADING_LAYER=workqueue, or tbb"
_SERIAL = f"set {holdings.TOKENIZERS}=false before the fork, or do not set it"
_CLOSE = "close the channels of gRPC before the fork, and open others in the child"
_SUPPORT = f"set {holdings.GRPC}=1 before grpc is imported, and open channels of its own in the child"

_REMEDIES = {
    "openmp-pool-of-this-thread": (_FRESH, _PAUSE, SPAWN),
    "numba-on-gnu-openmp": (_LAYER, SPAWN),
    "numba-on-openmp": (_LAYER, SPAWN),
    "tokenizers-pool": (_SERIAL, SPAWN),
    "grpc-without-fork-support": (_CLOSE, _SUPPORT, SPAWN),
    "grpc-channels": ("open channels of its own in the child", _CLOSE, SPAWN),
    "python-threads": ("fork before threads are started", SPAWN),
    "module-being-imported": ("import it before threads are started", SPAWN),
}
_WITHOUT_DEVICE = ("jax-cpu", "polars")


def runtimes(surroundings: Surroundings) -> Iterator[Reason]:
    """Yield a reason for each held thing that a child of this purpose certainly or possibly cannot use."""
    found = holdings.held(surroundings)
    return judged(found, surroundings.purpose, surroundings.waker, known_deeds(found, surroundings.deeds))


def judged(
    found: Collection[Holding],
    purpose: Purpose,
    waker: Callable[[str], Waker | None],
    does: Mapping[str, Deed] = NOTHING_KNOWN,
) -> Iterator[Reason]:
    """Yield the reasons against a fork for this purpose; `does` are the acts that the child will certainly
    do.
    """
    for holding in found:
        reason = reason_of(holding, purpose, waker, does)
        if reason is not None:
            yield reason


def reason_of(
    holding: Holding,
    purpose: Purpose,
    waker: Callable[[str], Waker | None],
    does: Mapping[str, Deed] = NOTHING_KNOWN,
) -> Reason | None:
    """Return the reason against a fork that a held thing is; None if it does not harm such a child."""
    verdict = judgement.judge(judgement.held(holding.name, doubtful=holding.doubtful), purpose, does)
    if verdict.judgement is Judgement.HARMLESS:
        return None
    awakened = waker(holding.accelerator) if holding.accelerator is not None else None
    return Reason(
        code=holding.code,
        text=f"{holding.what}{_by(awakened)}{holding.aside}",
        weight=Weight.DOUBT if verdict.judgement is Judgement.UNKNOWN else Weight.HARM,
        accelerator=holding.accelerator,
        waker=awakened,
        remedies=_remedies(holding),
        evidence=(*holding.evidence, *_way(does.get(holding.name))),
        judgement=verdict.judgement,
        condition=verdict.condition,
        watched=verdict.watched,
    )


def _way(deed: Deed | None) -> Iterator[tuple[str, str]]:
    """Yield, as evidence, the functions that lead to the child's act."""
    if deed is not None:
        yield "touches", deed.call
        for path, line, function in deed.steps:
            yield "touched in", f"{path}:{line} {function}"


def _remedies(holding: Holding) -> tuple[str, ...]:
    known = _REMEDIES.get(holding.code)
    if known is not None:
        return known
    is_device = holding.name in holdings.DEVICES and holding.name not in _WITHOUT_DEVICE
    return (SPAWN, _LATER) if is_device and not holding.doubtful else (SPAWN,)


def _by(waker: Waker | None) -> str:
    if waker is None:
        return ""
    if waker.path is not None and waker.line is not None:
        return f" (woken by {waker.path}:{waker.line})"
    return f" (woken by {waker.module})" if waker.module else ""
