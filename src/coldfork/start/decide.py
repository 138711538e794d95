"""Decide from evidence how this thread may start another process, and give the reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldfork.observe.forking import bodies
from coldfork.observe.forking.questions import BODIES
from coldfork.start.evidence.table import gather
from coldfork.start.policy import decided
from coldfork.start.states import as_states
from coldfork.start.static_reach.reach import StaticReach
from coldfork.start.surroundings import Surroundings
from coldfork.start.targets import target_of

if TYPE_CHECKING:
    from coldfork.model.decisions import Decision
    from coldfork.start.static_reach.answers import Reach

# Shared by the whole process, so that a question that has timed out is not asked again.
_REACH = StaticReach()


def decide(target: object = None, *, strict: bool = False, reach: Reach | None = None) -> Decision:
    """Return the start method for a process that this thread would start now, and the reasons for it.

    Nothing is changed and nothing of the target is imported; only a check of its source may run, in another
    process. `target` is what the new process will run: a callable, a module, or a text such as
    `"package.module:function"`; devices that importing its module wakes are considered too. With `strict`, a
    loaded framework and a visible device are reason enough not to fork.
    """
    return weighed(target, strict=strict, reach=reach)


def weighed(target: object, *, strict: bool, reach: Reach | None, about_servers: bool = False) -> Decision:
    """Return the decision; with `about_servers`, examine the forkserver even if a fork is possible."""
    wanted = target_of(target)
    surroundings = Surroundings(
        strict=strict,
        target=wanted,
        reach=_REACH if reach is None else reach,
        deeds=lambda: BODIES(bodies.of_purpose(surroundings.purpose, target)),
    )
    reasons = gather(surroundings, about_servers=about_servers)
    return decided(
        reasons, as_states(surroundings.readings.values()), None if wanted is None else wanted.module
    )
