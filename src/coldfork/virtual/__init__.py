"""A virtual device, for what goes wrong early on a real one: initialisation and graph capture.

`with coldfork.virtual.device("h100", count=2):` gives this process two of them for a block, and
`coldfork.virtual.install("h100", 2)` until it ends.

`with coldfork.virtual.capture() as graph:` records the CPU work of a block in the way in which a device
captures a graph: nothing is executed until `graph.replay()`.
"""

from __future__ import annotations

from coldfork.virtual.capturing import (
    CaptureError,
    CaptureRefusedError,
    NotCapturableError,
    ReplayError,
    capture,
)
from coldfork.virtual.errors import NotSimulatedError, UnknownDeviceError, VirtualDeviceError
from coldfork.virtual.installation import VirtualDevice, device, install, installed
from coldfork.virtual.profiles import PROFILES, Profile, parse

__all__ = [
    "PROFILES",
    "CaptureError",
    "CaptureRefusedError",
    "NotCapturableError",
    "NotSimulatedError",
    "Profile",
    "ReplayError",
    "UnknownDeviceError",
    "VirtualDevice",
    "VirtualDeviceError",
    "capture",
    "device",
    "install",
    "installed",
    "parse",
]
