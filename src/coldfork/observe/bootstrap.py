"""Start a watched interpreter, and begin the watch in it.

Python itself starts a watched program, with the usual command. Two variables in its environment start the
watch: PYTHONPATH, which names the folder `startup` first, and COLDFORK_WATCH, one JSON object:

    mode       "run" (records a program), "child" (records a process started by one), "probe", or "script"
               (an isolated script and every Python that it starts; nothing is recorded)
    recording  the file to append to (run and child)
    file       its device and inode: another file of that name is another program's; or null
    limit      its size in bytes
    by         the watched process whose environment this is; written by each for those it starts
    since      the start of the process that watches, in the kernel's ticks, or null
    began      the moment on the monotonic clock that times are counted from
    device     "real", "none" or "virtual:NAME"
    follow     whether children are watched too
    stage2     modules inside which the exact call is wanted; "*" is all of them
    pythonpath what PYTHONPATH was before, or null
    result     the file that a probe writes: one event a line, the last one is the result
    module     the module to probe
    values     whose public names to tell, after the import: {"names": more of them, "root": the folder of the
               copy}; or null
    forked     whether to fork first and import in the child
    tell_at    the moment on the monotonic clock at which a probe writes where it hangs, or null
    injection  the injection library, or null
    begin      "module:name" of what is called with the session before the program, or null
    sensor     "module:name" of a sensor of your own instead of coldfork's, or null
"""

from __future__ import annotations

import os
import sys
from time import monotonic

from coldfork.observe.recording.events import decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, NoReturn

    from coldfork.observe.watch import Watch

VARIABLE = "COLDFORK_WATCH"
VIRTUAL = "COLDFORK_VIRTUAL"
STARTUP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "startup")

#: The code for `python -c` in a process that is watched in the mode "probe".
PROBE = "from coldfork.observe.probing import probe; probe()"


def environment(settings: Mapping[str, Any], base: Mapping[str, str]) -> dict[str, str]:
    """Return the environment in which a Python process is watched with these settings."""
    inherited = base.get("PYTHONPATH")
    handed_on = {**settings, "pythonpath": inherited}
    handed_on.setdefault("began", monotonic())
    return {
        **base,
        "PYTHONPATH": STARTUP + (os.pathsep + inherited if inherited else ""),
        VARIABLE: encode(handed_on).decode("ascii").strip(),
    }


def command(python: str) -> list[str]:
    """Return the command for an interpreter to import and probe the module that its environment names."""
    return [python, "-c", PROBE]


class WatchSession:
    """The watch of this process, with its settings; `current` is set once, when the process starts."""

    current: WatchSession | None = None

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.watch: Watch | None = None


def begin(folder: str) -> None:
    """Start to watch this process with the settings in its environment; called once, before the program."""
    text = os.environ.get(VARIABLE)
    if text is None or not _is_main_interpreter():
        return
    settings = decode(text)
    _hide(settings)
    if os.environ.get(VIRTUAL):
        from coldfork import virtual

        virtual.install(*virtual.parse(os.environ[VIRTUAL]))
    # Only now: a watch without the requested virtual device would give wrong results.
    session = WatchSession.current = WatchSession(settings)
    if settings.get("mode") in ("run", "child"):
        _record(session)
    if settings.get("begin"):
        _named(settings["begin"])(session)


def _is_main_interpreter() -> bool:
    """Return False in a subinterpreter: it runs startup code in a process that is already watched.

    Whatever a subinterpreter registers is called at the process's end, and would give it a wrong exit status.
    """
    import _signal

    try:
        # Only the main interpreter allows this call; so early, no wake-up descriptor is set yet.
        former = _signal.set_wakeup_fd(-1)
    except ValueError:
        return False
    if former != -1:
        _signal.set_wakeup_fd(former)
    return True


def senses(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments by which `watch` uses the sensor in the settings; none for coldfork's own."""
    named = settings.get("sensor")
    if not named:
        return {}
    sensor = _named(named)()
    return {
        "sensor": sensor,
        "states": getattr(sensor, "examine", tuple),
        "remember": getattr(sensor, "remember_for_children", bool),
    }


def _named(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(__import__(module, fromlist=[name]), name)


def _hide(settings: dict[str, Any]) -> None:
    """Restore the program's own environment, unless its children are to be watched too."""
    if settings.get("follow"):
        _hand_on(settings)
        return
    del os.environ[VARIABLE]
    if settings.get("pythonpath") is None:
        os.environ.pop("PYTHONPATH", None)
    else:
        os.environ["PYTHONPATH"] = settings["pythonpath"]


def _hand_on(settings: dict[str, Any]) -> None:
    """Set the environment so that processes started by this one are watched too and know their parent."""
    mode = "child" if settings.get("mode") == "run" else settings.get("mode")
    # Not for an isolated script, because its environment must not change.
    if mode == "child":
        handed_on = {**settings, "mode": mode, "by": os.getpid()}
        os.environ[VARIABLE] = encode(handed_on).decode("ascii").strip()


def _record(session: WatchSession) -> None:
    import atexit

    import coldfork
    from coldfork.observe.recording.recorder import LIMIT, Recorder
    from coldfork.observe.watch import MAIN, watch

    settings = session.settings
    limit = settings.get("limit") or LIMIT
    recorder = Recorder(settings["recording"], limit, settings.get("file"))
    root = settings["mode"] == "run"
    started_as = sys.orig_argv
    if root:
        recorder.header(
            command=settings.get("command") or started_as,
            device=settings.get("device", "real"),
            tool=coldfork.__version__,
            environment=_without_us(settings),
            follow=bool(settings.get("follow")),
        )
    watching = session.watch = watch(
        recorder,
        stage2=settings.get("stage2") or (),
        follow=bool(settings.get("follow")),
        base=MAIN,
        began=settings.get("began"),
        ends=True,
        variable=VARIABLE if settings.get("follow") else "",
        born=lambda: _hand_on(settings),
        **senses(settings),
    )
    if settings.get("injection"):
        watching.bear_witness(settings["injection"])
    watching.process(
        "run" if root else _how(started_as), started_as, since=settings.get("since"), by=settings.get("by")
    )

    ended: set[int] = set()

    def end(status: int | None = None) -> None:
        if os.getpid() in ended:
            return
        ended.add(os.getpid())
        watching.poll()
        event = {"event": "exit", "status": status, "signal": None, "states": watching.states()}
        if root and not watching.program_began:
            event["begun"] = False
        watching.emit(event)
        recorder.close()

    atexit.register(end)
    guard_exit(end)


def guard_exit(end: Callable[[int], None]) -> None:
    """Call `end` when the process ends by `os._exit`, as all children of multiprocessing do."""
    leave = os._exit

    def _exit(status: int) -> NoReturn:
        try:
            if isinstance(status, int):
                end(status)
        finally:
            leave(status)

    os._exit = _exit


def _without_us(settings: dict[str, Any]) -> dict[str, str]:
    """Return the environment as it was before coldfork changed it."""
    path = settings.get("pythonpath")
    others = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {**others, "PYTHONPATH": path} if path else others


def _how(started_as: list[str]) -> str:
    """Return how a child was started, judging by its command line."""
    return "spawn" if any("multiprocessing" in word for word in started_as[1:]) else "subprocess"
