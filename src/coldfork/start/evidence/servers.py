"""Evidence for and against a forkserver: whether a clean one can be had, and whether it pays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldfork.model.decisions import Reason, Weight
from coldfork.start.static_reach.answers import Reached
from coldfork.start.targets import Target

if TYPE_CHECKING:
    from coldfork.start.surroundings import Surroundings


def forkserver_does_not_pay(surroundings: Surroundings) -> Reason | None:
    """Without modules to preload a server only adds a process: each child imports everything anew."""
    if "forkserver" not in surroundings.methods:
        return Reason("no-forkserver-here", "this platform has no forkserver", "forkserver", Weight.HARM)
    if surroundings.server.preload:
        return None
    return Reason(
        "forkserver-preloads-nothing",
        "its server would preload nothing, so that it saves nothing over spawn",
        "forkserver",
        Weight.CIRCUMSTANCE,
        remedies=("name what is to be preloaded: multiprocessing.set_forkserver_preload([...])",),
    )


def server_is_not_clean(surroundings: Surroundings) -> tuple[Reason, ...]:
    """A module that the server preloads and that wakes a device there, or may."""
    return tuple(
        reason
        for module in surroundings.server.preload
        if (reason := _of_preload(module, surroundings)) is not None
    )


def server_has_another_environment(surroundings: Surroundings) -> Reason | None:
    """A server that runs already has the environment of the moment it was started."""
    differences = surroundings.server.differences
    if not differences:
        return None
    return Reason(
        "forkserver-environment",
        f"its server was started with another environment ({', '.join(differences[:4])})",
        "forkserver",
        Weight.CIRCUMSTANCE,
        evidence=tuple(("variable", name) for name in differences[:8]),
    )


def _of_preload(module: str, surroundings: Surroundings) -> Reason | None:
    answer = surroundings.reach_of(Target(module))
    if answer.reached is Reached.NOTHING:
        return None
    if answer.reached is Reached.UNKNOWN:
        return Reason(
            "forkserver-preload-unknown",
            f"its server preloads {module}, and what that does is unknown: {answer.reason}",
            "forkserver",
            Weight.DOUBT,
        )
    return Reason(
        "forkserver-preload-wakes",
        f"its server preloads {module}, which wakes {answer.accelerator} ({answer.path}:{answer.line})",
        "forkserver",
        Weight.HARM,
        accelerator=answer.accelerator,
    )
