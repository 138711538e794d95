"""All reasons against a start method, gathered from one table of evidence.

`against_fork()` is for the check before each fork: it considers only the runtimes of this process, and takes
a few microseconds while nothing changes. `gather()` is for decisions: it also considers the machine, the
surroundings and the target.
"""

from __future__ import annotations

from _thread import _count as python_threads
from _thread import get_ident
from typing import TYPE_CHECKING

from coldfork.model.decisions import Reason
from coldfork.model.forking.judgement import NOTHING_KNOWN, Purpose
from coldfork.observe.forking import holdings
from coldfork.start.evidence import circumstances, runtimes, target
from coldfork.start.process import HERE
from coldfork.start.surroundings import Surroundings
from coldfork.start.wakers import WAKERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from coldfork.model.forking.judgement import Deed
    from coldfork.observe.forking.holding import Holding

    Piece = Callable[[Surroundings], "Reason | Iterable[Reason] | None"]

RUNTIMES: tuple[Piece, ...] = (runtimes.runtimes,)
"""Evidence in what a forked child would inherit."""

SURROUNDINGS: tuple[Piece, ...] = (
    circumstances.platform_without_fork,
    circumstances.macos,
    circumstances.ray_worker,
    circumstances.wsl,
    circumstances.jupyter,
    circumstances.xpu_build,
    circumstances.numa_binding,
    circumstances.method_asked_for,
    circumstances.daemon,
    circumstances.framework_and_device,
    target.target_without_file,
    target.target_cannot_be_pickled,
)
"""Evidence in the machine, in who runs the program, and in what cannot be passed to a new interpreter."""

IMPORTS: tuple[Piece, ...] = (target.imports_of_target,)
"""Evidence in the target's imports; it may take a while, so it is gathered only while it still matters."""

SERVERS: tuple[Piece, ...] = (
    circumstances.vllm_takes_no_forkserver,
    target.forkserver_does_not_pay,
    target.server_is_not_clean,
    target.server_has_another_environment,
)
"""Whether a clean forkserver is possible and saves anything; examined only if there will be no fork."""


def gather(surroundings: Surroundings, *, about_servers: bool = False) -> tuple[Reason, ...]:
    """Return all reasons against a method, the heaviest first.

    With `about_servers`, examine the forkserver even if a fork is possible.
    """
    found = [*found_in(surroundings, RUNTIMES), *found_in(surroundings, SURROUNDINGS)]
    if not any(reason.vetoes for reason in found):
        found += found_in(surroundings, IMPORTS)
    if about_servers or any(reason.against == "fork" for reason in found):
        found += found_in(surroundings, SERVERS)
    return tuple(sorted(found, key=lambda reason: -reason.weight.rank))


def found_in(surroundings: Surroundings, pieces: Iterable[Piece]) -> list[Reason]:
    """Return the reasons from some pieces of evidence."""
    found: list[Reason] = []
    for piece in pieces:
        said = piece(surroundings)
        if isinstance(said, Reason):
            found.append(said)
        elif said is not None:
            found.extend(said)
    return found


class _LastAnswer:
    """The last result, which stays valid while the states, the threads and the caller are the same."""

    def __init__(self) -> None:
        self._for: tuple[object, ...] | None = None
        self._found: tuple[Holding, ...] = ()

    def now(self) -> tuple[Holding, ...]:
        asked = (
            HERE.readings(),
            HERE.generation,
            get_ident(),
            python_threads(),
            _numba(),
            HERE.setting(holdings.GRPC),
        )
        if self._for is None or any(
            old is not new and old != new for old, new in zip(self._for, asked, strict=True)
        ):
            self._found = tuple(holdings.held(Surroundings()))
            self._for = asked
        return self._found


_LAST = _LastAnswer()


def held_here() -> tuple[Holding, ...]:
    """Return the things that this thread now holds and that a forked child might not be able to use."""
    return _LAST.now()


def against_fork(
    purpose: Purpose = Purpose.PLAIN, does: Mapping[str, Deed] = NOTHING_KNOWN
) -> tuple[Reason, ...]:
    """Return the reasons against forking such a child from this thread now, the heaviest first."""
    found = runtimes.judged(held_here(), purpose, WAKERS.of, does)
    return tuple(sorted(found, key=lambda reason: -reason.weight.rank))


def _numba() -> object:
    return (HERE.module("numba.np.ufunc.parallel") or {}).get("_threading_layer")
