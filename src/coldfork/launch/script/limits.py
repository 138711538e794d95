"""The caps that a script is given: read from what was asked, as its supervisor and its report take them."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from coldfork.launch.supervisor.caps.sizes import parse_size
from coldfork.model.errors import UsageError

SWITCH = "COLDFORK_CAPS"
"""With `watch` in it no control group is made, and caps are held by a watch wherever one could be."""
_WATCH = "watch"

Size = int | str
"""Bytes, or a text such as `2 GiB`."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a script and all it starts may use."""

    memory: int | None = None
    """Bytes, together."""
    cpu: float | None = None
    """Seconds of processor time, together."""
    device_memory: dict[str, Any] | None = None
    """What was set for a cap on the memory of devices, as the report says it."""

    def job(self, environment: Mapping[str, str] = os.environ) -> dict[str, Any] | None:
        """What the supervisor is to hold it to."""
        if self.memory is None and self.cpu is None:
            return None
        groups = environment.get(SWITCH, "").strip().lower() != _WATCH
        return {"memory": self.memory, "cpu": self.cpu, "groups": groups}

    def report(self) -> dict[str, Any] | None:
        """What the report says of them when a script starts."""
        if self == Limits():
            return None
        held = {name: _unknown(most) for name, most in (("memory", self.memory), ("cpu", self.cpu))}
        return {**held, "device_memory": self.device_memory}


def _unknown(most: float | None) -> dict[str, Any] | None:
    return None if most is None else {"most": most, "reached": None, "by": None}


def read(memory: Size | None, cpu: float | None) -> Limits:
    """The caps that somebody asked for."""
    return Limits(None if memory is None else parse_size(memory, "max_memory"), _seconds(cpu))


def device_complaint(report: Mapping[str, Any]) -> str | None:
    """What has to be said of a cap on the memory of devices that nobody was told of."""
    cap = (report.get("caps") or {}).get("device_memory")
    return None if cap is None or cap["by"] else f"no device memory cap: {cap['why_not']}"


def _seconds(cpu: float | None) -> float | None:
    if cpu is None:
        return None
    given: object = cpu
    if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(cpu) or cpu <= 0:
        raise UsageError(f"max_cpu is a number of seconds of processor time, not {cpu!r}; None sets no cap")
    return cpu
