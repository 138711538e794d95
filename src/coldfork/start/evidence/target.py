"""Evidence about the target of the new process, and about a forkserver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldfork.model.decisions import Reason, Weight
from coldfork.model.forking.judgement import Purpose
from coldfork.start.static_reach.answers import Reached
from coldfork.start.targets import Target

if TYPE_CHECKING:
    from coldfork.start.surroundings import Surroundings


def forkserver_does_not_pay(surroundings: Surroundings) -> Reason | None:
    """Return the reason that a server without preloads saves nothing, because each child imports
    everything.
    """
    if "forkserver" not in surroundings.methods:
        return Reason("no-forkserver-here", "this platform has no forkserver", "forkserver", Weight.HARM)
    if surroundings.server.preload:
        return None
    return Reason(
        "forkserver-preloads-nothing",
        "its server would preload nothing, so it saves nothing over spawn",
        "forkserver",
        Weight.CIRCUMSTANCE,
        remedies=("name the modules to preload: multiprocessing.set_forkserver_preload([...])",),
    )


def server_is_not_clean(surroundings: Surroundings) -> tuple[Reason, ...]:
    """Return a reason if the server preloads a module that certainly or possibly wakes a device there."""
    return tuple(
        reason
        for module in surroundings.server.preload
        if (reason := _of_preload(module, surroundings)) is not None
    )


def server_has_another_environment(surroundings: Surroundings) -> Reason | None:
    """Return the reason that a running server still has the environment with which it was started."""
    differences = surroundings.server.differences
    if not differences:
        return None
    return Reason(
        "forkserver-environment",
        f"its server was started with a different environment ({', '.join(differences[:4])})",
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
            f"its server preloads {module}, whose effect is unknown: {answer.reason}",
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


_IMPORTABLE = ("put the function at the top level of a module that can be imported",)


def imports_of_target(surroundings: Surroundings) -> Reason | None:
    """Return the reason that importing the target's module wakes, or may wake, a device in the child."""
    # A function that was typed into an interpreter belongs to no module that a child could import.
    if surroundings.target is None or surroundings.target.has_no_file:
        return None
    if surroundings.target.purpose is not Purpose.PROCESS:
        # Workers of a known kind need no check, because what they do is known.
        return None
    answer = surroundings.reach_of(surroundings.target)
    if answer.reached is Reached.NOTHING:
        return None
    evidence = tuple(
        (name, value)
        for name, value in (
            ("module", answer.module),
            ("verdict", answer.verdict),
            ("path", answer.path),
            ("line", None if answer.line is None else str(answer.line)),
            ("reason", answer.reason),
        )
        if value is not None
    )
    if answer.reached is Reached.UNKNOWN:
        return Reason(
            "target-unknown",
            f"it is unknown what importing {answer.module} does to a device: {answer.reason}",
            weight=Weight.DOUBT,
            evidence=evidence,
        )
    where = f" ({answer.path}:{answer.line})" if answer.path else ""
    return Reason(
        "target-wakes-device",
        f"importing {answer.module} wakes {answer.accelerator}{where}, {answer.verdict}",
        weight=Weight.DOUBT,
        accelerator=answer.accelerator,
        remedies=(f"compute it on first use: coldfork check --entry {answer.module}",),
        evidence=evidence,
    )


def target_without_file(surroundings: Surroundings) -> tuple[Reason, ...]:
    """Return a reason if the target was typed into an interpreter or notebook: no new one can import it."""
    if surroundings.target is None or not surroundings.target.has_no_file:
        return ()
    text = (
        f"{surroundings.target} was defined interactively and is in no file, so a new interpreter cannot "
        "import it"
    )
    return _unreachable("target-has-no-file", text)


def target_cannot_be_pickled(surroundings: Surroundings) -> tuple[Reason, ...]:
    """Return a reason if the target is a lambda or local function: pickle cannot pass it to a new
    interpreter.
    """
    target = surroundings.target
    if target is None or not target.cannot_be_pickled:
        return ()
    text = f"{target} is local to a function or a lambda, which pickle cannot pass to a new interpreter"
    return _unreachable("target-cannot-be-pickled", text)


def _unreachable(code: str, text: str) -> tuple[Reason, ...]:
    return tuple(
        Reason(code, text, method, Weight.HARM, remedies=_IMPORTABLE) for method in ("spawn", "forkserver")
    )
