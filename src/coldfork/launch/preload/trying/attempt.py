"""Import modules and report whether the process may be forked afterwards, and why if not."""

from __future__ import annotations

import os
import sys
from functools import partial
from time import process_time

from coldfork.launch.preload.trying import belongings
from coldfork.launch.preload.trying.lines import line_of
from coldfork.launch.preload.trying.variables import imprint
from coldfork.launch.server import renewal
from coldfork.launch.server.renewal import ThreadLimits
from coldfork.observe import states
from coldfork.observe.probing import describe
from coldfork.start import canary
from coldfork.start.trials import Trial, trials

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from coldfork.launch.preload.trying.forked_attempt import Tell
    from coldfork.launch.preload.trying.observer import Observer
    from coldfork.model.decisions import CanaryAnswer
    from coldfork.observe.recording.events import Event


DEVICE, LOCK, RAISES, BREAKS = "device", "lock", "raises", "breaks"
"""Faults of a module besides those that `left_behind` finds.

The last two are an import that raises an error, and a forked child that could not do its work although no
other fault was seen. Frozen values are found elsewhere, by comparing two processes.
"""
_PROCESSORS = {"OMP_NUM_THREADS": "2"}
"""Makes the child run in parallel if it can, on whatever machine."""
_NO_DEVICE = 100


def attempt(modules: Sequence[str], observer: Observer, tell: Tell, limit: float) -> bool:
    """Import modules, report all that they leave behind, and return whether a worker may be forked from here.

    If an import forks a child and the child returns here, the child is ended.
    """
    clean, here = True, os.getpid()
    for name in modules:
        tell({"event": "item", "module": name})
        began = process_time()
        try:
            __import__(name)
        except BaseException as error:
            if os.getpid() != here:
                os._exit(0)
            tell({"event": "raised", "module": name, "error": describe(error)})
            clean = False
        if os.getpid() != here:
            os._exit(0)
        tell({"event": "imported", "module": name, "seconds": process_time() - began})
    observer.poll()
    for stain in stains(observer):
        tell(stain)
        clean = False
    if clean:
        answer = try_in_child(limit)
        tell({"event": "forked", "safe": answer.safe, "reason": answer.reason, "tried": answer.tried})
        clean = bool(answer.safe)
    return clean


def stains(observer: Observer) -> Iterator[Event]:
    """Yield a report of everything that would break a worker, with the responsible module and line."""
    yield from _awake(observer)
    for kind, text, module, (path, line) in observer.left_behind.left():
        yield _stain(kind, text, module, path, line)
    for lock in belongings.held_locks():
        # A lock that no module holds belongs to a running function: to ours, or to that of a thread already
        # reported.
        if lock.module is not None:
            path, line = line_of(lock.module, lock.name)
            yield _stain(LOCK, f"the lock {lock.module}.{lock.name} is held", lock.module, path, line)


def _awake(observer: Observer) -> Iterator[Event]:
    for state in states.examine():
        if state.unsafe_to_fork:
            waker = observer.woken.get(state.accelerator) or {}
            reason = f", because {state.reason}" if state.reason else ""
            text = f"{state.accelerator} is {state.status}{reason}"
            stain = _stain(DEVICE, text, waker.get("module"), waker.get("path"), waker.get("line"))
            yield {**stain, "accelerator": state.accelerator}


def _stain(kind: str, text: str, module: str | None, path: str | None, line: int | None) -> Event:
    if path is None and module is not None:
        path = getattr(sys.modules.get(module), "__file__", None)
    return {"event": "stain", "kind": kind, "text": text, "module": module, "path": path, "line": line}


def tell_of_variables(observer: Observer, tell: Tell) -> None:
    """Report the variables that were read or set, each with the module that did so."""
    own = observer.variables.of_workers()
    for name, (module, (path, line)) in list(observer.variables.reads.items()):
        read = {"name": name, "module": module, "path": path, "line": line}
        if name in own:
            tell({"event": "own", **read, "digest": imprint(module)})
        else:
            tell({"event": "read", **read})
    for name, (value, (module, (path, line))) in list(observer.variables.writes.items()):
        written = {"event": "written", "name": name, "module": module, "path": path, "line": line}
        tell({**written, "removed": value is None})


def tell_of_generators(tell: Tell) -> None:
    """Report the sources of random numbers; their states are later compared with those of another process."""
    for one, digest in belongings.generators():
        path, line = (None, None) if one.module is None else line_of(one.module, one.name)
        kind = type(one.thing).__qualname__
        place = {"module": one.module, "name": one.name, "path": path, "line": line}
        seedable = one.is_found() and renewal.can_seed_anew(one.thing)
        tell({"event": "generator", "kind": kind, **place, "digest": digest, "seedable": seedable})


def try_in_child(limit: float) -> CanaryAnswer:
    """Fork a child like a server's worker, which draws seeds, starts thread pools and uses the device.

    The child is killed if it takes too long.
    """
    limits = ThreadLimits()
    beginning = (
        Trial("drawing new seeds", renewal.redraw),
        Trial("starting its thread pools", lambda: limits.restore(_PROCESSORS)),
    )
    return canary.attempt((*beginning, *trials(), *_devices()), limit)


def use_device() -> None:
    """Use the device in this process through any loaded library that can."""
    for trial in _devices():
        trial.attempt()


def _devices() -> Iterator[Trial]:
    if "torch" in sys.modules:
        torch: Any = sys.modules["torch"]
        if hasattr(torch, "cuda"):
            yield Trial("using the device", partial(_use, torch))
    else:
        yield Trial("initialising the device's driver", _initialise)


def _use(torch: Any) -> None:
    """Create a context on the first device, by calls that a virtual device supports too."""
    if torch.cuda.is_available():
        torch.cuda.set_device(0)
        torch.cuda.synchronize()


def _initialise() -> None:
    import ctypes

    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        # There is no device, or a virtual one that only torch sees.
        return
    code = driver.cuInit(0)
    if code not in (0, _NO_DEVICE):
        raise RuntimeError(f"cuInit returned {code}")
