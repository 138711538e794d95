"""Forks a child as a server forks a worker, and has it use what is loaded, and the device."""

from __future__ import annotations

import sys

from coldfork.launch.server import renewal
from coldfork.launch.server.renewal import ThreadLimits
from coldfork.start.canary import attempt
from coldfork.start.trials import Trial, trials

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from coldfork.model.decisions import CanaryAnswer

_PROCESSORS = {"OMP_NUM_THREADS": "2"}
"""So that what can go parallel does in the child, whatever machine this is."""
_NO_DEVICE = 100


def try_in_child(limit: float) -> CanaryAnswer:
    """Fork a child that draws new seeds, goes parallel and uses the device; killed when it takes too long."""
    return attempt((*_beginning(), *trials(), *_devices()), limit)


def _beginning() -> Iterator[Trial]:
    yield Trial("drawing new seeds", renewal.redraw)
    limits = ThreadLimits()
    yield Trial("giving its pools their threads", lambda: limits.restore(_PROCESSORS))


def use_device() -> str | None:
    """Use the device in this process, in the way that is at hand; what was done, None without a device."""
    for trial in _devices():
        trial.attempt()
        return trial.name
    return None


def _devices() -> Iterator[Trial]:
    if "torch" in sys.modules:
        torch: Any = sys.modules["torch"]
        if hasattr(torch, "cuda"):
            yield Trial("using the device", lambda: _use(torch))
    else:
        yield Trial("initialising the device's driver", _initialise)


def _use(torch: Any) -> None:
    """What creates a context, and what the virtual device can do as well."""
    if torch.cuda.is_available():
        torch.cuda.set_device(0)
        torch.cuda.synchronize()


def _initialise() -> None:
    import ctypes

    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        # A machine without one, or a virtual device that torch alone finds.
        return
    code = driver.cuInit(0)
    if code not in (0, _NO_DEVICE):
        raise RuntimeError(f"cuInit returned {code}")
