"""Caps on a script, in the forms for users, for the supervisor and for the report."""

from __future__ import annotations

import math
import os
import re

from coldfork.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Size = int | str
    """Bytes, or a text such as `2 GiB`."""

_SIZE = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*([A-Za-z]*)")
_LETTERS = "KMGT"
_BINARY = {letter: 1024**power for power, letter in enumerate(_LETTERS, 1)}
_DECIMAL = {letter: 1000**power for power, letter in enumerate(_LETTERS, 1)}


def parse_size(size: int | str, name: str = "size") -> int:
    """Parse a size such as `2 GiB`, `512M`, `1.5GB` or a number of bytes; `name` is for error messages.

    K, M, G and T, alone or with iB, are powers of 1024; KB, MB, GB and TB are powers of 1000.
    """
    if isinstance(size, str):
        return _require_some(_read(size, name), size, name)
    if isinstance(size, bool) or not isinstance(size, int):
        raise UsageError(f'{name} has to be a number of bytes or a text such as "2 GiB", not {size!r}')
    return _require_some(size, size, name)


def _read(text: str, name: str) -> int:
    matched = _SIZE.fullmatch(text.strip())
    factor = None if matched is None else _factor(matched[2].upper())
    if matched is None or factor is None:
        raise UsageError(f'{name}={text!r} is not a size; write it as in "2 GiB", "512M" or "1.5GB"')
    whole, dot, part = matched[1].partition(".")
    # Whole numbers are not computed as floats, which would round large ones.
    return int(float(matched[1]) * factor) if dot and part else int(whole) * factor


def _factor(unit: str) -> int | None:
    if unit in ("", "B"):
        return 1
    letter, rest = unit[0], unit[1:]
    if rest in ("", "IB"):
        return _BINARY.get(letter)
    return _DECIMAL.get(letter) if rest == "B" else None


def _require_some(count: int, given: object, name: str) -> int:
    if count <= 0:
        raise UsageError(f"{name}={given!r} is too small to use; for no limit, give None")
    return count


def spoken(count: int) -> str:
    """Return a size in words with one decimal, such as `2.0 GiB`."""
    unit, factor = _unit(count)
    return f"{count} bytes" if factor == 1 else f"{count / factor:.1f} {unit}"


def spoken_cap(count: int) -> str:
    """Return a cap in words, such as `2 GiB`, without a decimal place that is zero."""
    return spoken(count).replace(".0 ", " ")


def _unit(count: int) -> tuple[str, int]:
    for letter in reversed(_LETTERS):
        # Rounding could give 1024.0 MiB, which should read 1.0 GiB.
        if count >= _BINARY[letter] * 0.99995:
            return f"{letter}iB", _BINARY[letter]
    return "bytes", 1


SWITCH = "COLDFORK_CAPS"
"""If its value contains `watch`, no control group is made, and caps are enforced by watching the processes.
"""
_WATCH = "watch"


class Limits:
    """The limits for a script and all its processes."""

    def __init__(
        self, memory: int | None, cpu: float | None, device_memory: dict[str, Any] | None = None
    ) -> None:
        self.memory = memory
        """The most memory, in bytes, of all processes together."""
        self.cpu = cpu
        """Seconds of processor time for all processes together."""
        self.device_memory = device_memory
        """The cap on device memory that was set, in the report's form."""

    def job(self, environment: Mapping[str, str] = os.environ) -> dict[str, Any] | None:
        """Return the supervisor's instructions about the caps; None without caps."""
        if self.memory is None and self.cpu is None:
            return None
        groups = environment.get(SWITCH, "").strip().lower() != _WATCH
        return {"memory": self.memory, "cpu": self.cpu, "groups": groups}

    def report(self) -> dict[str, Any] | None:
        """Return the report's entry about the caps at the start of a script."""
        if self.memory is None and self.cpu is None and self.device_memory is None:
            return None
        held = {name: _unknown(most) for name, most in (("memory", self.memory), ("cpu", self.cpu))}
        return {**held, "device_memory": self.device_memory}


def _unknown(most: float | None) -> dict[str, Any] | None:
    return None if most is None else {"most": most, "reached": None, "by": None}


def read(memory: Size | None, cpu: float | None) -> Limits:
    """Check the caps that the user asked for, and return them."""
    return Limits(None if memory is None else parse_size(memory, "max_memory"), _seconds(cpu))


def device_complaint(caps: Mapping[str, Any] | None) -> str | None:
    """Return a complaint if no program could be told the cap on device memory; else None."""
    cap = (caps or {}).get("device_memory")
    return None if cap is None or cap["by"] else f"no device memory cap: {cap['why_not']}"


def _seconds(cpu: float | None) -> float | None:
    if cpu is None:
        return None
    given: object = cpu
    if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(cpu) or cpu <= 0:
        raise UsageError(
            f"max_cpu has to be a number of seconds of processor time, not {cpu!r}; for no cap, give None"
        )
    return cpu
