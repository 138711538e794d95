"""Fork a child that tries what a worker typically does, under a watchdog, to see whether it works."""

from __future__ import annotations

import os
import select
import signal
import sys
import warnings
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from coldfork.model.decisions import CanaryAnswer
from coldfork.model.errors import UsageError
from coldfork.model.forking.judgement import Deed, Judgement, Purpose
from coldfork.start.evidence import runtimes, table
from coldfork.start.trials import trials
from coldfork.start.wakers import WAKERS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from coldfork.model.decisions import Reason
    from coldfork.observe.forking.holding import Holding
    from coldfork.start.trials import Trial

TIMEOUT = 10.0
_TRYING, _FAILED, _DONE = b"?", b"!", b"."
_MOST = 1 << 16


def canary(timeout: float = TIMEOUT) -> CanaryAnswer:
    """Fork a child as a trial, and return whether a child that this thread forks now can work.

    The child runs one parallel operation of each runtime that is loaded here, and queries each loaded device
    once. If it hangs, it is killed after `timeout` seconds. Nothing of it is left, and nothing is tried in
    this process; `coldfork.guard` allows the fork. The trial cannot show everything: for example, another
    thread may hold a lock at the moment.

    The answer also contains the judgement of such a child by the table that `guard` and `decide` use.
    """
    if not hasattr(os, "fork"):
        raise UsageError("this platform has no fork, so there is nothing to try")
    return attempt(trials(), timeout)


def attempt(todo: Sequence[Trial], timeout: float) -> CanaryAnswer:
    """Return whether a child that this thread forks now can carry out all of these trials."""
    # Imported before the fork, because an import lock may be stuck in the child. Windows lacks the module.
    import resource

    against = expected(table.held_here(), todo)
    began = monotonic()
    receiving, sending = os.pipe()
    try:
        child = _fork(todo, sending, timeout, partial(resource.setrlimit, resource.RLIMIT_CORE, (0, 0)))
    except BaseException:
        os.close(receiving)
        os.close(sending)
        raise
    os.close(sending)
    try:
        said, ended = _listen(receiving, began + timeout)
    finally:
        os.close(receiving)
        status = _end(child)
    return _answer(said, ended, status, monotonic() - began, timeout, against)


def expected(found: Collection[Holding], todo: Sequence[Trial]) -> tuple[Reason, ...]:
    """Return the reasons of the table against forking a child that makes these trials, the heaviest first."""
    does = {name: Deed("the canary", trial.name, ()) for trial in reversed(todo) for name in trial.about}
    reasons = runtimes.judged(found, Purpose.PLAIN, WAKERS.of, does)
    return tuple(sorted(reasons, key=lambda reason: -reason.weight.rank))


def _fork(todo: Sequence[Trial], sending: int, timeout: float, keep_no_core: Callable[[], object]) -> int:
    with _allowed(), warnings.catch_warnings():
        # Python and JAX would warn of this fork, which is only a trial.
        warnings.simplefilter("ignore")
        child = os.fork()
    if not child:
        _try_all(todo, sending, timeout, keep_no_core)
    return child


def _allowed() -> AbstractContextManager[object]:
    """Let the guard, if this process has one, allow the forks of the block."""
    guard = sys.modules.get("coldfork.start.guard")
    if guard is None:
        return nullcontext()
    passed: AbstractContextManager[object] = guard.allow_fork("the canary tries whether it breaks")
    return passed


def _try_all(todo: Sequence[Trial], sending: int, timeout: float, keep_no_core: Callable[[], object]) -> None:
    """Run the trials in the child; it never returns."""
    status = 1
    try:
        # By default an alarm ends the child, even if it is stuck in C code after its parent has gone.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, timeout + 1)
        keep_no_core()
        _leave_no_trace()
        for trial in todo:
            os.write(sending, _TRYING + trial.name.encode() + b"\n")
            trial.attempt()
        os.write(sending, _DONE + b"\n")
        status = 0
    except BaseException as error:
        text = f"{type(error).__name__}: {error}".replace("\n", " ")[:1000]
        os.write(sending, _FAILED + text.encode("utf-8", "replace") + b"\n")
    finally:
        # Skip Python's shutdown, whose exit handlers belong to the parent.
        os._exit(status)


def _leave_no_trace() -> None:
    """Discard the child's output and crash reports."""
    faulthandler = sys.modules.get("faulthandler")
    if faulthandler is not None:
        faulthandler.disable()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    # Replaced, so that only the parent writes the output that is not flushed yet.
    sys.stdout = sys.stderr = os.fdopen(nowhere, "w")


def _listen(receiving: int, deadline: float) -> tuple[bytes, bool]:
    """Return the child's output until it ends or the time is up, and whether it ended."""
    said = b""
    poll = select.poll()
    poll.register(receiving, select.POLLIN)
    while (left := deadline - monotonic()) > 0:
        if not poll.poll(left * 1000):
            continue
        piece = os.read(receiving, _MOST)
        if not piece:
            return said, True
        said += piece
    return said, False


def _end(child: int) -> int | None:
    """Kill the child and return its status; None if other code has waited for it."""
    try:
        os.kill(child, signal.SIGKILL)
    except ProcessLookupError:
        pass
    try:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except ChildProcessError:
        return None


def _answer(
    said: bytes,
    ended: bool,
    status: int | None,
    seconds: float,
    timeout: float,
    against: tuple[Reason, ...],
) -> CanaryAnswer:
    lines = said.decode("utf-8", "replace").splitlines()
    tried = tuple(line[1:] for line in lines if line.startswith("?"))
    what = tried[-1] if tried else "the fork itself"
    failure = next((line[1:] for line in lines if line.startswith("!")), None)
    if "." in lines:
        done = (
            f"a forked child could do {', '.join(tried)}" if tried else "nothing is loaded that could break"
        )
        return CanaryAnswer(True, done + _otherwise(against), tried, seconds, against)
    if failure is not None:
        reason = f"a forked child fails in {what}: {failure}"
    elif not ended:
        reason = f"a forked child hangs in {what}: it was killed after {timeout:g} s"
    else:
        how = f"signal {-status}" if status is not None and status < 0 else f"status {status}"
        reason = f"a forked child was ended by {what}: {how}"
    return CanaryAnswer(False, reason, tried, seconds, against)


def _otherwise(against: tuple[Reason, ...]) -> str:
    """Return a clause about a child that succeeded: failures that the table expected, and untried acts."""
    broken = [one.text for one in against if one.judgement is Judgement.BREAKS]
    untried = [one.condition or one.text for one in against if one.judgement is Judgement.BREAKS_IF]
    said = f"; it was expected to break, because {', '.join(broken)}" if broken else ""
    return said + (f"; not tried: {', '.join(untried)}" if untried else "")
