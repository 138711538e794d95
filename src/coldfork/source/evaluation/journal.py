"""Changes to objects that outlive a call. They are undone when the module that made them has been followed.

Every module is followed as if it were the first to be imported. One module's changes to a registry or a
singleton must not be visible when the next one is followed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from coldfork.source.values.kinds import Instance, Mapping, Sequence, Value

#: The object being changed; None for a variable, whose changes all code can see.
Owner = Mapping | Sequence | Instance | None


class _Change(NamedTuple):
    """One change: the object or variable, and its value before."""

    target: Mapping | Sequence | dict[Any, Value]
    held: Any
    exact: bool
    doubtful: bool
    shared: bool
    """True if the object can be seen outside the call that changed it."""
    owner: Owner


class Mark(NamedTuple):
    """A position in the journal, to return to or to compare with."""

    changes: int
    generation: int
    peculiar: int


class Rebinding(NamedTuple):
    """The values that a call gave to module variables when it began in an unchanged state."""

    values: tuple[tuple[Any, Value], ...]
    generation: int
    """The number of the state after these changes."""


class Journal:
    """All changes since following the current module began."""

    def __init__(self) -> None:
        self._changes: list[_Change] = []
        self.outstanding: int = 0
        """The number of changes that other code can now see: results based on them are valid only for this
        module.
        """
        self.shared: int = 0
        """The number of changes so far that other calls can see; a call that makes one is not cached."""
        self.peculiar: int = 0
        """The number of reads of bindings that are specific to the current module, plus changes of its
        environment.
        """
        self.generation: int = 0
        """The number of the current visible state; 0 if nothing has been changed."""
        self._generations = 0

    def note(self, target: Mapping | Sequence) -> None:
        """Save the whole content of `target` before it may be changed."""
        held = dict(target.items) if isinstance(target, Mapping) else target.items
        self._changes.append(_Change(target, held, target.exact, target.doubtful, target.shared, target))
        if target.shared:
            self._count()

    def note_entry(self, entries: dict[Any, Value], key: object, owner: Owner) -> None:
        """Save one entry of a dictionary before it is changed."""
        shared = owner is None or owner.shared
        self._changes.append(_Change(entries, (key, entries.get(key)), True, False, shared, owner))
        if shared:
            self._count()

    def _count(self) -> None:
        """Count a change that other code can see; the state after it is a new one."""
        self.shared += 1
        self.outstanding += 1
        self._generations += 1
        self.generation = self._generations

    def note_peculiar(self) -> None:
        """Count another reason, besides changes, for which a call must be followed again for each module."""
        self.shared += 1
        self.peculiar += 1

    def note_variable(self, variables: dict[Any, Value], name: object) -> None:
        """Save a variable of a module or an enclosing function before a call rebinds it."""
        self.note_entry(variables, name, None)

    def is_as_at(self, mark: Mark) -> bool:
        """Return whether nothing was changed since `mark`."""
        return len(self._changes) == mark.changes

    def changed_since(self, mark: Mark) -> Iterator[tuple[Mapping | Sequence | dict[Any, Value], Any]]:
        """Yield the changes since `mark`: containers, and variables with their names."""
        for change in self._changes[mark.changes :]:
            yield change.target, change.held[0] if isinstance(change.target, dict) else None

    def rebound_since(self, mark: Mark, variables: dict[Any, Value]) -> Rebinding | None:
        """Return the values given to these variables since `mark`; None if anything else was changed."""
        behind = self._changes[mark.changes :]
        if not behind or any(change.target is not variables for change in behind):
            return None
        names = dict.fromkeys([change.held[0] for change in behind])
        return Rebinding(tuple([(name, variables[name]) for name in names]), self.generation)

    def rebind(self, variables: dict[Any, Value], again: Rebinding) -> None:
        """Give module variables the values that an earlier, equal call gave them."""
        for name, value in again.values:
            self.note_variable(variables, name)
            variables[name] = value
        self.generation = again.generation

    def mark(self) -> Mark:
        """Return the current position in the journal."""
        return Mark(len(self._changes), self.generation, self.peculiar)

    def forget(self, mark: Mark) -> None:
        """Undo the changes since `mark` that other code could see, made by code that was only examined."""
        if self.is_as_at(mark):
            return
        behind = self._changes[mark.changes :]
        del self._changes[mark.changes :]
        for change in reversed(behind):
            if change.shared:
                _restore(change)
                self.outstanding -= 1
        self.generation = mark.generation
        self._changes += [change for change in behind if not change.shared]

    def keep(self, mark: Mark) -> None:
        """Make those changes since `mark` permanent that were made before other code could see the object."""
        if self.is_as_at(mark):
            return
        behind = self._changes[mark.changes :]
        del self._changes[mark.changes :]
        self._changes += [one for one in behind if one.shared or one.owner is None or not one.owner.shared]

    def settle(self, mark: Mark) -> None:
        """Make the changes permanent that a cached call made to its own objects, because its result contains
        them.
        """
        if self.is_as_at(mark):
            return
        behind = self._changes[mark.changes :]
        del self._changes[mark.changes :]
        self._changes += [change for change in behind if change.shared]

    def roll_back(self) -> None:
        """Undo all changes."""
        for change in reversed(self._changes):
            _restore(change)
        self._changes.clear()
        self.outstanding = self.generation = 0


def _restore(change: _Change) -> None:
    target = change.target
    if isinstance(target, dict):
        name, value = change.held
        if value is None:
            target.pop(name, None)
        else:
            target[name] = value
    else:
        target.items = change.held
        target.exact = change.exact
        target.doubtful = change.doubtful
