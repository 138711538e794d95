"""What Ray says of the end of an actor, in words for the task that it had."""

from __future__ import annotations

import re

from coldfork.launch.pool.errors import WorkerDiedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from coldfork.launch.pool.on_ray.actor import Whereabouts

_HEADER = re.compile(r"^\s*(?:class_name|actor_id|pid|name|namespace|ip): .*\n?", re.MULTILINE)
"""Which actor it was, in Ray's names for it."""
_GUESSES = re.compile(r" *Some common causes include: .*", re.DOTALL)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_LACKING = re.compile(r"ModuleNotFoundError: No module named 'coldfork'")
_DIED = "The actor died unexpectedly before finishing this task."
_BECAUSE = re.compile(r"^The actor (?:is dead because|died because|died:)\s*")
_UNAVAILABLE = re.compile(
    r"^The actor \w+ is unavailable: (.*)\. The task may or may not have been executed on the actor\.$",
    re.DOTALL,
)


def reason(error: BaseException) -> str:
    """Why an actor has ended, as Ray says it, without what every such text says."""
    text = _COLOUR.sub("", str(error)).strip()
    unavailable = _UNAVAILABLE.match(text)
    if unavailable is not None:
        text = unavailable[1]
    text = _HEADER.sub("", text.removeprefix(_DIED).lstrip("\n"))
    text = _GUESSES.sub("", _BECAUSE.sub("", text)).strip()
    return text or type(error).__name__


def unready(error: BaseException) -> str:
    """Why an actor has ended before it was ready."""
    if _LACKING.search(str(error)):
        return (
            "the nodes of the Ray cluster cannot import coldfork; install it there, in the version that is "
            'here, or have Ray do so: ray.init(runtime_env={"pip": ["coldfork"]})'
        )
    return f"an actor ended before it was ready; Ray says: {reason(error)}"


def death(error: BaseException, at: Whereabouts, device: str | None) -> WorkerDiedError:
    """What is told of a worker that was ready and is no more."""
    who = f"pid {at.pid} on node {at.node}"
    if device is not None:
        who += f", {device}"
    said = f"the worker that ran the task ({who}) was lost; Ray says: {reason(error)}"
    return WorkerDiedError(said, at.pid, device=device)
