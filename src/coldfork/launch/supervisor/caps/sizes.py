"""Sizes of memory as people write them: `2 GiB` read into bytes, and bytes spoken as `2.0 GiB`."""

from __future__ import annotations

import re

from coldfork.model.errors import UsageError

_SIZE = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*([A-Za-z]*)")
_LETTERS = "KMGT"
_BINARY = {letter: 1024**power for power, letter in enumerate(_LETTERS, 1)}
_DECIMAL = {letter: 1000**power for power, letter in enumerate(_LETTERS, 1)}


def parse_size(size: int | str, name: str = "size") -> int:
    """The bytes of `2 GiB`, `512M`, `1.5GB` or a number of bytes; `name` is what an error calls it.

    K, M, G and T count in 1024, alone and with iB; KB, MB, GB and TB count in 1000.
    """
    if isinstance(size, str):
        return _require_some(_read(size, name), size, name)
    if isinstance(size, bool) or not isinstance(size, int):
        raise UsageError(f'{name} is a number of bytes or a text such as "2 GiB", not {size!r}')
    return _require_some(size, size, name)


def _read(text: str, name: str) -> int:
    matched = _SIZE.fullmatch(text.strip())
    factor = None if matched is None else _factor(matched[2].upper())
    if matched is None or factor is None:
        raise UsageError(f'{name}={text!r} is no size; write it as in "2 GiB", "512M" or "1.5GB"')
    whole, dot, part = matched[1].partition(".")
    # Whole numbers as such: a float would lose the last bytes of a large one.
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
        raise UsageError(f"{name}={given!r} leaves nothing to use; None sets no cap")
    return count


def spoken(count: int) -> str:
    """Bytes as people say them, with one decimal: `2.0 GiB`."""
    unit, factor = _unit(count)
    return f"{count} bytes" if factor == 1 else f"{count / factor:.1f} {unit}"


def spoken_cap(count: int) -> str:
    """A cap as it was meant: `2 GiB`, without a decimal that says nothing."""
    return spoken(count).replace(".0 ", " ")


def _unit(count: int) -> tuple[str, int]:
    for letter in reversed(_LETTERS):
        # What rounds to 1024.0 MiB is 1.0 GiB.
        if count >= _BINARY[letter] * 0.99995:
            return f"{letter}iB", _BINARY[letter]
    return "bytes", 1
