"""AMD's devices, as the kernel lists them; no library of theirs is loaded."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

_TOPOLOGY = Path("/sys/class/kfd/kfd/topology/nodes")


def identities(topology: Path = _TOPOLOGY) -> tuple[str, ...]:
    """One name for each device, in the order in which ROCm counts them: that of the kernel's nodes."""
    found: list[str] = []
    with suppress(OSError):
        for node in sorted(topology.iterdir(), key=lambda one: int(one.name)):
            properties = _properties(node / "properties")
            # A node without these is a processor.
            if properties.get("simd_count", 0):
                found.append(_name(properties, len(found)))
    return tuple(found)


def _properties(file: Path) -> dict[str, int]:
    pairs = (line.split() for line in file.read_text(encoding="ascii").splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdecimal()}


def _name(properties: dict[str, int], number: int) -> str:
    """As ROCR_VISIBLE_DEVICES names a device, where the device says who it is."""
    unique = properties.get("unique_id", 0)
    return f"gpu-{unique:016x}" if unique else f"amd-{number}"
