"""Which classes of this process are copies of another's, and what a sender's main module was left with."""

from __future__ import annotations

import os
import sys
from functools import cache
from weakref import WeakKeyDictionary, WeakValueDictionary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MISSING = object()
_SIMPLE = (bool, bytes, complex, float, int, str, type(None))


class Origins:
    """The identities of classes and type variables that travel by value, from here or to here."""

    def __init__(self) -> None:
        self._made_here: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self._came: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self._by_identity: WeakValueDictionary[str, Any] = WeakValueDictionary()
        self._received: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()
        self._legacies: dict[str, Legacy] = {}

    def identity(self, thing: Any) -> str:
        """What `thing` is called in every process."""
        known = self._came.get(thing) or self._made_here.get(thing)
        if known is None:
            known = self._made_here[thing] = os.urandom(12).hex()
            self._by_identity[known] = thing
        return known

    def known(self, identity: str) -> Any:
        """What goes by this identity in this process, or None."""
        return self._by_identity.get(identity)

    def came(self, identity: str, thing: Any) -> None:
        """Remember that `thing` was made here as the copy of what another process calls so."""
        self._came[thing] = identity
        self._by_identity[identity] = thing

    def is_copy(self, thing: Any) -> bool:
        """Whether it came from another process."""
        return thing in self._came

    def has_arrived(self, thing: Any) -> bool:
        """Whether its attributes have come before."""
        return thing in self._received

    def news(self, thing: Any, attributes: dict[str, Any]) -> tuple[dict[str, Any], set[str]]:
        """What to set on a copy, and what to delete, for it to have what its original has now.

        A plain value that is sent as it was sent before is no news: the copy may have changed it meanwhile,
        as one does that loads a model once and keeps it.
        """
        before = self._received.get(thing)
        self._received[thing] = {
            name: value if is_simple(value) else _MISSING for name, value in attributes.items()
        }
        if before is None:
            return attributes, set()
        fresh = {n: v for n, v in attributes.items() if not is_same(v, before.get(n, _MISSING))}
        return fresh, before.keys() - attributes.keys()

    def legacy(self, sender: str) -> Legacy:
        """What functions of this sender's main module have left in their globals."""
        return self._legacies.setdefault(sender, Legacy())


class Legacy:
    """The globals that functions of another process's main module assigned here, for those that come after.

    Each call brings the globals that it needs along, so that it sees what its sender has now. What an
    earlier call assigned with a `global` statement (`global model; model = load()`) is no business of the
    sender's, and later calls find it.
    """

    def __init__(self) -> None:
        self._homes: dict[str, dict[str, Any]] = {}
        """For each name that was assigned, the globals of the latest call that does so."""
        self._sent: dict[str, Any] = {}

    def settle(
        self, target: dict[str, Any], sent: dict[str, Any], used: frozenset[str], assigned: frozenset[str]
    ) -> None:
        """Fill the globals of one call with what its sender has, and with what was left for it."""
        for name in used | assigned:
            home = self._homes.get(name)
            if home is None or name not in home or name in target:
                continue
            if name not in sent or is_same(sent[name], self._sent.get(name, _MISSING)):
                target[name] = home[name]
        for name, value in sent.items():
            target.setdefault(name, value)
        for name in used | assigned:
            self._sent[name] = sent.get(name, _MISSING)
            if not is_simple(self._sent[name]):
                del self._sent[name]
        for name in assigned:
            self._homes[name] = target


def is_simple(value: object) -> bool:
    """Whether a value can be compared at no cost and without running anybody's code."""
    return type(value) in _SIMPLE


def is_same(value: object, other: object) -> bool:
    """Whether both are the same simple value."""
    return type(value) is type(other) and type(value) in _SIMPLE and value == other


@cache
def origins() -> Origins:
    """Those of this process."""
    return Origins()


@cache
def _token(pid: int) -> str:
    return f"{pid}-{os.urandom(8).hex()}"


def sender() -> str:
    """What this process is called where its functions arrive; a forked child is another sender."""
    return _token(os.getpid())


def main_module() -> dict[str, Any]:
    """The variables of the main module of this process."""
    module = sys.modules.get("__main__")
    return {} if module is None else vars(module)
