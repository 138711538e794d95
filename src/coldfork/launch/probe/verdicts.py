"""Judge an import by its two trials: cold, woken and by which line, failed, or unknown and why."""

from __future__ import annotations

import linecache
from collections.abc import Hashable, Sequence
from dataclasses import replace

from coldfork.launch.probe.report_paths import OWN, Event, Origins
from coldfork.launch.probe.trial import ImportTrial
from coldfork.model.probes import Failure, ModuleProbe, ProbeStatus, Wake
from coldfork.model.states import Level, Status, Waker
from coldfork.observe.probing import RUNTIMES
from coldfork.observe.recording import redaction

_POLLING = ("poll", "states")
"""Failures of the watch after which a device may be awake unnoticed."""


def judge(module: str, first: ImportTrial, awake_before: Sequence[str], origins: Origins) -> ModuleProbe:
    """Return the result of a first trial, which does not yet know the exact line that woke a device."""
    status, reason = _verdict(first, awake_before)
    result = first.result or {}
    wakes = first.device_wakes
    accelerator = wakes[0]["accelerator"] if wakes else _seen_at_the_end(first, awake_before)
    failed = status is ProbeStatus.FAILED or (status is ProbeStatus.WOKEN and reason is not None)
    return ModuleProbe(
        module=module,
        status=status,
        reason=reason,
        accelerator=accelerator if status is ProbeStatus.WOKEN else None,
        level=_deepest(first, accelerator) if status is ProbeStatus.WOKEN else None,
        waker=_waker(wakes[0]["waker"], origins) if wakes else None,
        wakes=tuple(_wake(wake) for wake in first.wakes),
        failure=_failure(result.get("error"), origins),
        output=redaction.text(first.ended.output) if failed or status is ProbeStatus.UNKNOWN else "",
        output_cut=first.ended.cut,
        file=result.get("file"),
        asleep=first.result is not None
        and not wakes
        and accelerator is None
        and not _doubts(first, awake_before),
        modules_loaded=result.get("modules_loaded"),
        seconds=float(result.get("seconds") or 0.0),
        values=first.values,
    )


def guilty(first: ImportTrial) -> frozenset[str]:
    """Return the modules that may contain the waking call: the waker's; if unknown, all that were loading."""
    if not first.device_wakes:
        return frozenset()
    wake = first.device_wakes[0]
    if wake["waker"]["module"]:
        return frozenset((wake["waker"]["module"],))
    return frozenset(suspect["module"] for suspect in wake.get("suspects", ()))


def shared_way(module: str, first: ImportTrial) -> Hashable | None:
    """Return a key for modules whose imports reach the waking line by the same chain; None without a chain.

    A package is imported before any of its modules, so what it wakes is awake for all of them in the same
    way.
    """
    chain = first.device_wakes[0]["waker"]["import_chain"]
    if not chain or not f"{module}.".startswith(f"{chain[0]['module']}."):
        return None
    return first.device_wakes[0]["accelerator"], *((site["module"], site["line"]) for site in chain)


def cannot_tell(probe: ModuleProbe, second: ImportTrial) -> bool:
    """Return whether a second trial saw the device wake, but could not identify the waking module."""
    wakes = _wakes_of(probe, second)
    return bool(wakes) and wakes[0]["waker"]["module"] is None


def with_exact_line(probe: ModuleProbe, second: ImportTrial, origins: Origins) -> ModuleProbe:
    """Add the line and call that a second trial found, or the reason why they are unknown."""
    seen = probe.waker
    wakes = _wakes_of(probe, second)
    if seen is None or not wakes:
        outcome = _ending(second) or "in a fresh interpreter stayed cold, so whether it wakes varies"
        return _with_reason(probe, f"the exact line is not known: a second look {outcome}")
    exact = _waker(wakes[0]["waker"], origins)
    if exact.module is None or (seen.module is not None and exact.module != seen.module):
        place = f"{exact.path}:{exact.line}" if exact.line else str(exact.module)
        other = "could not tell who" if exact.module is None else f"named {place}"
        return _with_reason(
            probe, f"the exact line is not known: a second look {other}; what wakes it first varies"
        )
    text = _source_line(exact, origins)
    found = replace(probe, waker=exact, text=text, woken_to=_wake(wakes[0]).level)
    return found if exact.line is not None else _with_reason(found, "the exact line was not seen")


def cut_short(probe: ModuleProbe) -> ModuleProbe:
    """Return the result of a first trial whose second trial was interrupted."""
    return _with_reason(probe, "the exact line is not known: the second look was interrupted")


def _wakes_of(probe: ModuleProbe, trial: ImportTrial) -> list[Event]:
    return [wake for wake in trial.device_wakes if wake["accelerator"] == probe.accelerator]


def _verdict(trial: ImportTrial, awake_before: Sequence[str]) -> tuple[ProbeStatus, str | None]:
    ending = _ending(trial)
    if trial.device_wakes:
        return ProbeStatus.WOKEN, None if ending is None else f"afterwards {ending}"
    late = _seen_at_the_end(trial, awake_before)
    if late is not None:
        found = f"{late} was found awake after the import; what woke it was not seen"
        return ProbeStatus.WOKEN, found if ending is None else f"{found}; {ending}"
    if ending is not None:
        return ProbeStatus.FAILED, ending
    doubts = _doubts(trial, awake_before)
    if doubts:
        return ProbeStatus.UNKNOWN, "; ".join(doubts)
    return ProbeStatus.COLD, None


def _ending(trial: ImportTrial) -> str | None:
    """Return a phrase that says how the import ended; None if it ended well."""
    ended, result = trial.ended, trial.result
    if result is not None:
        error = result.get("error")
        return None if error is None else f"the import failed with {_said(error)}"
    if ended.timed_out:
        return f"the import did not end within {trial.limit:g} s" + _where_stuck(trial.stuck)
    if ended.signal is not None:
        return f"the import crashed: {ended.signal}"
    refusal = next((line for line in ended.output.splitlines() if line.startswith("coldfork: ")), None)
    if refusal is not None and not trial.wakes:
        return refusal.removeprefix("coldfork: ")
    return f"the import ended the process with exit status {ended.status}"


def _where_stuck(stacks: str) -> str:
    """Return the innermost line of each thread, omitting frames of importlib and coldfork."""
    places: list[str] = []
    wanted = False
    for line in stacks.splitlines():
        if not line.startswith("  File "):
            wanted = "most recent call first" in line
        elif wanted and "<frozen importlib" not in line and f'"{OWN}' not in line:
            places.append(line.strip().removeprefix("File "))
            wanted = False
    return "; it was in " + " and in ".join(places[:3]) if places else ""


def _seen_at_the_end(trial: ImportTrial, awake_before: Sequence[str]) -> str | None:
    """Return a device that is awake after the import although no wake was recorded."""
    return next((device for device in awake_in(trial) if device not in awake_before), None)


def _doubts(trial: ImportTrial, awake_before: Sequence[str]) -> list[str]:
    """Return the reasons why a device may be awake although no wake was seen."""
    return [
        *(f"{name} is awake in this interpreter before anything is imported" for name in awake_before),
        *(
            f"{state['accelerator']} is {state['status']}: {state['reason']}"
            for state in _device_states(trial)
            if state["status"] in (Status.UNKNOWN, Status.POISONED)
        ),
        *(f"the watch failed: {trouble}" for trouble in trial.troubles if trouble.startswith(_POLLING)),
    ]


def _device_states(trial: ImportTrial) -> list[Event]:
    states = (trial.result or {}).get("states", ())
    return [state for state in states if state["accelerator"] not in RUNTIMES]


def awake_in(trial: ImportTrial) -> tuple[str, ...]:
    """Return the devices that are awake at the end of a trial."""
    return tuple(
        str(state["accelerator"]) for state in _device_states(trial) if state["status"] == Status.AWAKE
    )


def _deepest(trial: ImportTrial, accelerator: str | None) -> Level | None:
    levels = [wake["level"] for wake in trial.wakes if wake["accelerator"] == accelerator]
    levels += [state["level"] for state in _device_states(trial) if state["accelerator"] == accelerator]
    known = [Level(level) for level in levels if level]
    return Level.CONTEXT if Level.CONTEXT in known else (known[0] if known else None)


def _wake(event: Event) -> Wake:
    level = event["level"]
    return Wake(event["accelerator"], Level(level) if level else None, event["waker"]["module"])


def _waker(event: Event, origins: Origins) -> Waker:
    return Waker(
        module=event["module"],
        path=origins.place(event["path"], event["module"]),
        line=event["line"],
        function=event["function"],
        call=event["call"],
        thread=event["thread"],
        import_chain=origins.sites(event["import_chain"]),
        stack=origins.frames(event["stack"]),
    )


def _failure(error: Event | None, origins: Origins) -> Failure | None:
    if error is None:
        return None
    return Failure(error["type"], error["message"], origins.frames(error["stack"]))


def _said(error: Event) -> str:
    message = " ".join(str(error["message"]).split())
    return f"{error['type']}: {message}" if message else str(error["type"])


def _source_line(waker: Waker, origins: Origins) -> str:
    file = origins.files.get(waker.path or "")
    return linecache.getline(file, waker.line).strip() if file and waker.line else ""


def _with_reason(probe: ModuleProbe, reason: str) -> ModuleProbe:
    return replace(probe, reason="; ".join(part for part in (probe.reason, reason) if part))
