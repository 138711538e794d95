"""Devices that exist only for their initialisation, so that it can be tested without a GPU.

`with coldfork.virtual.device("h100", count=2):` gives this process two of them, and
`coldfork.virtual.install("h100", 2)` does so for good.
"""

from __future__ import annotations

from coldfork.virtual.errors import NotSimulatedError, UnknownDeviceError, VirtualDeviceError
from coldfork.virtual.installation import VirtualDevice, device, install, installed
from coldfork.virtual.profiles import PROFILES, Profile, parse

__all__ = [
    "PROFILES",
    "NotSimulatedError",
    "Profile",
    "UnknownDeviceError",
    "VirtualDevice",
    "VirtualDeviceError",
    "device",
    "install",
    "installed",
    "parse",
]
