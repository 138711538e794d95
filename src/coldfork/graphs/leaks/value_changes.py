"""The changes that a run makes to Python values."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterable, Mapping
from types import CodeType
from typing import Any, NamedTuple

from coldfork.graphs.leaks.reachable_values import is_tensor, spots
from coldfork.model.states import Frame

_NOTHING = object()
_SHOWN = 60


class Change(NamedTuple):
    """A value that has changed."""

    path: str
    holder: Any
    key: Any
    before: str
    after: str


class Snapshot:
    """The values that a forward function could reach at one moment.

    The snapshot keeps the objects that hold them alive, so that no later object gets the same id.
    """

    def __init__(self, roots: Mapping[str, Any]) -> None:
        self._holders: dict[int, Any] = {id(value): value for value in roots.values()}
        self._values: dict[tuple[int, Any], tuple[str, Any, Any]] = {}
        for spot in spots(roots):
            self._holders[id(spot.value)] = spot.value
            self._values[id(spot.holder), spot.key] = spot.path, _print_of(spot.value), spot.value

    def holds(self, holder: Any) -> bool:
        """Return whether an object could be reached at the moment of this snapshot."""
        return self._holders.get(id(holder), _NOTHING) is holder

    def changes(self, later: Snapshot) -> list[Change]:
        """Return how objects in this snapshot differ in a later one."""
        found: list[Change] = []
        for place, (path, now, value) in later._values.items():
            holder = self._holders.get(place[0])
            if holder is None:
                continue
            _, before, earlier = self._values.get(place, ("", _NOTHING, _NOTHING))
            if before is not _NOTHING and before == now:
                continue
            if before is _NOTHING and isinstance(place[1], str):
                earlier = getattr(type(holder), place[1], _NOTHING)  # a default value from the class
            found.append(Change(path, holder, place[1], _shown(earlier), _shown(value)))
        return found


class Calls:
    """A record of the functions that ran, to find the line that set a value."""

    def __init__(self) -> None:
        self.codes: dict[CodeType, None] = {}
        self._before: Any = None

    def __enter__(self) -> None:
        self._before = sys.getprofile()
        sys.setprofile(self._called)

    def __exit__(self, *error: object) -> None:
        profile_again(self._before)

    def _called(self, frame: Any, event: str, argument: Any) -> None:
        self.codes[frame.f_code] = None

    def setter_of(self, name: Any) -> Frame | None:
        """Return the line that sets this attribute or key, if there is only one in the recorded functions."""
        found = list(_setters(self.codes, name)) if isinstance(name, str) else []
        return found[0] if len(set(found)) == 1 else None


def profile_again(before: Any) -> None:
    """Restore what `sys.getprofile` returned: a function, or a profiler object such as cProfile's."""
    if before is None or callable(before):
        sys.setprofile(before)
    else:
        sys.setprofile(None)
        before.enable()


def _setters(codes: Iterable[CodeType], name: str) -> Iterable[Frame]:
    for code in codes:
        if name not in code.co_names and name not in code.co_consts:
            continue
        line, last = code.co_firstlineno, None
        for instruction in dis.get_instructions(code):
            line = getattr(instruction.positions, "lineno", None) or line
            stored = {"STORE_ATTR": instruction.argval, "STORE_SUBSCR": last}.get(instruction.opname)
            if stored == name:
                yield Frame(code.co_filename, line, code.co_qualname)
            last = instruction.argval


def _print_of(value: Any) -> Any:
    """Return a fingerprint of a value: its contents if it is immutable, otherwise its identity."""
    if isinstance(value, bool | int | float | complex | str | bytes | None):
        return type(value), repr(value)
    if is_tensor(value):
        return id(value), _memory_of(value), tuple(value.shape), value.dtype
    return id(value)


def _memory_of(tensor: Any) -> Any:
    try:
        return tensor.untyped_storage()._cdata, tensor.storage_offset()
    except (NotImplementedError, RuntimeError):
        return None


def _shown(value: Any) -> str:
    if value is _NOTHING:
        return "nothing"
    if is_tensor(value):
        return f"a tensor {tuple(value.shape)} of {value.dtype}"
    text = repr(value) if isinstance(value, bool | int | float | str | bytes | None) else type(value).__name__
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
