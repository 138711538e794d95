"""Texts that are only partly known, such as `f"cuda:{rank}"`, or the path of a file next to the code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from string import Formatter

from coldfork.source.values.kinds import UNKNOWN, Const, External, Keywords, Unknown, Value

#: Longer beginnings and ends are not kept.
_LONGEST = 200
#: Texts longer than this are not kept, even if they are completely known.
_LONGEST_WHOLE = 2_000
_CONVERSION = re.compile(r"%(?:\((?P<key>[^()]*)\))?(?P<flags>[-+ #0-9.*]*)[hlL]?(?P<kind>.)", re.DOTALL)


class PartialText(Value):
    """A text or path of which the beginning and end are known, each possibly empty, but not the text
    between.
    """

    __slots__ = ("end", "is_path", "start")

    def __init__(self, start: str, end: str, is_path: bool = False) -> None:
        self.start: str = start[:_LONGEST]
        self.end: str = end[-_LONGEST:]
        self.is_path: bool = is_path

    def __eq__(self, other: object) -> bool:
        return type(other) is PartialText and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[str, str, bool]:
        return self.start, self.end, self.is_path


def partial(start: str, end: str, is_path: bool = False) -> Value:
    """Return a text with this beginning and this end; unknown if both are empty."""
    return PartialText(start, end, is_path) if start or end else UNKNOWN


def written(value: Value) -> PartialText | str | None:
    """Return the text that a value has inside a longer text; None if it is unknown."""
    if isinstance(value, Const):
        return str(value.value)
    if isinstance(value, External):
        device = device_text(value)
        return None if device is None else written(device)
    return value if isinstance(value, PartialText) else None


def joined_text(parts: Iterable[Value]) -> Value:
    """Return the parts joined to one text."""
    start, end, whole = "", "", True
    for part in parts:
        text = written(part)
        if isinstance(text, str):
            start, end = (start + text if whole else start), end + text
            continue
        if whole:
            start += text.start if text else ""
        end, whole = (text.end if text else ""), False
    if whole:
        return Const(start) if len(start) <= _LONGEST_WHOLE else UNKNOWN
    return partial(start, end)


def end_of(value: Value) -> str:
    """Return the known end of a text; empty if it is unknown or the value is no text."""
    if isinstance(value, PartialText):
        return value.end
    return value.value if isinstance(value, Const) and isinstance(value.value, str) else ""


def ending(parts: Sequence[Value], is_path: bool = False) -> PartialText | None:
    """Return the path that ends with the last of these parts; None if the end of that part is unknown."""
    end = end_of(parts[-1]) if parts else ""
    return PartialText("", end, is_path) if end else None


def appended(left: Value, right: Value) -> Value | None:
    """Return the text that joins two values, as far as it is known; None if nothing is known or they are no
    texts.
    """
    if not (_may_be_text(left) and _may_be_text(right)) or (isinstance(left, External) and not end_of(right)):
        return None
    result = joined_text((left, right))
    return None if result is UNKNOWN else result


def below(left: Value, right: Value) -> PartialText | None:
    """Return the path `folder / name`, as far as its end is known."""
    may_be_path = isinstance(left, (External, Unknown)) or (isinstance(left, PartialText) and left.is_path)
    return ending((right,), is_path=True) if may_be_path else None


def _may_be_text(value: Value) -> bool:
    if isinstance(value, Const):
        return isinstance(value.value, str)
    return isinstance(value, (External, Unknown)) or (isinstance(value, PartialText) and not value.is_path)


def percent(text: str, given: Value, items: Sequence[Value] | None) -> Value:
    """Return `text % given`; `items` are the arguments if `given` is a tuple. Unknown if the format is
    complicated.
    """
    parts: list[Value] = []
    arguments = iter((given,) if items is None else items)
    at = 0
    for match in _CONVERSION.finditer(text):
        parts.append(Const(text[at : match.start()]))
        at = match.end()
        if match["kind"] == "%":
            parts.append(Const("%"))
        elif match["key"] is None and "*" not in match["flags"]:
            argument = next(arguments, UNKNOWN)
            parts.append(argument if match["kind"] in "sdi" and not match["flags"] else UNKNOWN)
        else:
            parts.append(UNKNOWN)
    return joined_text([*parts, Const(text[at:])])


def formatted(text: str, positional: Sequence[Value], keywords: Keywords) -> Value:
    """Return the result of `text.format(...)`; a complicated format gives unknown."""
    parts: list[Value] = []
    arguments = iter(positional)
    try:
        for literal, field, spec, conversion in Formatter().parse(text):
            parts.append(Const(literal))
            if field is None:
                continue
            if not field:
                argument = next(arguments, UNKNOWN)
            elif field.isdigit():
                argument = positional[int(field)] if int(field) < len(positional) else UNKNOWN
            else:
                argument = keywords.get(field, UNKNOWN)
            parts.append(UNKNOWN if spec or conversion else argument)
    except ValueError:  # the format is invalid
        return UNKNOWN
    return joined_text(parts)


def is_equal(left: Value, right: Value) -> bool | None:
    """Return whether a text is equal to a value; None if the unknown part decides."""
    text, other = (left, right) if isinstance(left, PartialText) else (right, left)
    if not isinstance(text, PartialText):
        return None
    if isinstance(other, PartialText) and text.is_path is other.is_path:
        starts = _agree(text.start, other.start)
        return None if starts and _agree(text.end[::-1], other.end[::-1]) else False
    if not isinstance(other, Const) or text.is_path:
        return None
    whole = other.value
    possible = (
        isinstance(whole, str)
        and len(whole) >= len(text.start) + len(text.end)
        and whole.startswith(text.start)
        and whole.endswith(text.end)
    )
    return None if possible else False


def _agree(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def holds(text: PartialText, part: Value) -> bool | None:
    """Return True if a known part of the text contains `part`; otherwise None, because it is unknown."""
    if isinstance(part, Const) and isinstance(part.value, str):
        return True if part.value in text.start or part.value in text.end else None
    return None


def is_within(text: PartialText, whole: str) -> bool | None:
    """Return False if a known part of the text is not in `whole`; otherwise None, because it is unknown."""
    return None if text.start in whole and text.end in whole else False


_DEVICE = "torch.device("
#: Marks where the known part of a device's name ends.
_AND_SO_ON = "…"


def device_named(text: Value) -> External | None:
    """Return the device that `torch.device(text)` makes, as far as it is known; return a device unchanged."""
    if isinstance(text, Const) and isinstance(text.value, (str, int)) and not isinstance(text.value, bool):
        return External(f"{_DEVICE}{text.value})")
    if isinstance(text, PartialText) and text.start:
        return External(f"{_DEVICE}{text.start}{_AND_SO_ON})")
    return text if isinstance(text, External) and device_text(text) is not None else None


def device_text(value: Value) -> Value | None:
    """Return the name of a device, as far as it is known; None for any other value."""
    if not isinstance(value, External) or not value.name.startswith(_DEVICE) or value.name[-1] != ")":
        return None
    inner = value.name[len(_DEVICE) : -1]
    if not inner or "(" in inner or ")" in inner:
        return None
    return PartialText(inner[:-1], "") if inner.endswith(_AND_SO_ON) else Const(inner)
