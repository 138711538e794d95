"""Changes to objects that outlive a call: undone when the module that made them has been followed.

Every module is followed as if it were the first to be imported. What one module's import leaves in a
registry or a singleton must not be there yet when the next one is followed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from coldfork.source.values import Env, Instance, Mapping, Sequence, Value, union

if TYPE_CHECKING:
    from coldfork.source.evaluator import Evaluator
    from coldfork.source.wakes import Frame


class Journal:
    """What has been changed since the last module was begun."""

    def __init__(self) -> None:
        self._undo: list[tuple[Value, object, object]] = []
        self._variables: list[tuple[Env, str, Value]] = []
        self.shared = 0
        """Changes to objects that other calls can see: a call that made one may not be remembered."""

    def note(self, target: Instance | Mapping | Sequence) -> None:
        """Keep what `target` holds, before it is changed."""
        if isinstance(target, Instance):
            self._undo.append((target, dict(target.attributes), None))
        elif isinstance(target, Mapping):
            self._undo.append((target, dict(target.items), target.exact))
        else:
            self._undo.append((target, target.items, target.exact))
        self.shared += target.shared

    def note_variable(self, env: Env, name: str) -> None:
        """Keep what a variable of an enclosing function holds, before an inner one rebinds it."""
        self._variables.append((env, name, env.names[name]))
        self.shared += 1

    def roll_back(self) -> None:
        """Put everything back as it was."""
        for target, held, exact in reversed(self._undo):
            if isinstance(target, Instance):
                target.attributes = held  # type: ignore[assignment]
            elif isinstance(target, (Mapping, Sequence)):
                target.items = held  # type: ignore[assignment]
                target.exact = bool(exact)
        self._undo.clear()
        for env, name, value in reversed(self._variables):
            env.names[name] = value
        self._variables.clear()


def share(value: Value) -> Value:
    """Mark what a module or class body holds: every call sees the same object."""
    if isinstance(value, (Instance, Mapping, Sequence)) and not value.shared:
        value.shared = True
        if isinstance(value, Instance):
            for held in value.attributes.values():
                share(held)
        elif isinstance(value, Mapping):
            for held in value.items.values():
                share(held)
        else:
            for held in value.items:
                share(held)
    return value


def set_attribute(ev: Evaluator, frame: Frame, target: Instance, name: str, value: Value) -> None:
    """`target.name = value`, in a way that may only have been taken perhaps."""
    if frame.off is not None:
        return
    ev.journal.note(target)
    known = target.attributes.get(name)
    target.attributes[name] = value if known is None or not frame.conditions else union((known, value))


def set_item(ev: Evaluator, frame: Frame, target: Mapping, key: Value, value: Value) -> None:
    """`target[key] = value`."""
    if frame.off is not None:
        return
    ev.journal.note(target)
    known = target.items.get(key)
    target.items[key] = value if known is None or not frame.conditions else union((known, value))
    if frame.conditions:
        target.exact = False


def update(ev: Evaluator, frame: Frame, target: Mapping, items: dict[Value, Value], exact: bool) -> None:
    """`target.update(items)`."""
    if frame.off is not None:
        return
    ev.journal.note(target)
    target.items.update(items)
    target.exact = target.exact and exact and not frame.conditions


def extend(ev: Evaluator, frame: Frame, target: Sequence, items: Iterable[Value], exact: bool) -> None:
    """`target.extend(items)`."""
    if frame.off is not None:
        return
    ev.journal.note(target)
    target.items = (*target.items, *items)
    target.exact = target.exact and exact and not frame.conditions
