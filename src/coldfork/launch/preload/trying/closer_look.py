"""Imports a module that is known to wake a device once more under watch, to learn the line that does."""

from __future__ import annotations

from coldfork.launch.preload.trying.ending import wait_for_the_end
from coldfork.launch.preload.trying.forked_attempt import fork_and_hear

TYPE_CHECKING = False
if TYPE_CHECKING:
    from coldfork.launch.preload.trying.observer import Observer, Tell
    from coldfork.observe.recording.events import Event


def look_closer(module: str, accelerator: str, observer: Observer, patience: float) -> Event | None:
    """Who wakes this accelerator when the module is imported in a child; None when that was not seen."""

    def live(tell: Tell) -> None:
        from coldfork.observe.watch import watch

        def heard(event: Event) -> None:
            if event.get("event") == "wake" and event["accelerator"] == accelerator:
                tell({"event": "waker", "waker": event["waker"]})

        observer.remove()
        watching = watch(heard, stage2=(module,), imports=False, outside=False)
        try:
            __import__(module)
        except BaseException:
            # What it woke before that is told.
            pass
        watching.poll()
        tell({"event": "ended"})
        wait_for_the_end()

    outcome = fork_and_hear(live, patience)
    return None if outcome is None else outcome.waker
