"""Changes to objects that outlive a call: undone when the module that made them has been followed.

Every module is followed as if it were the first to be imported. What one module's import leaves in a
registry or a singleton must not be there yet when the next one is followed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from coldfork.source.values.kinds import Instance, Mapping, Sequence, Value

#: What a change is made to; None for a variable, which others can always see.
Owner = Mapping | Sequence | Instance | None


class _Change(NamedTuple):
    """What something held before it was changed."""

    target: Mapping | Sequence | dict[Any, Value]
    held: Any
    exact: bool
    doubtful: bool
    shared: bool
    """True when calls other than the one that made it could see the object."""
    owner: Owner


class Mark(NamedTuple):
    """A point that can be gone back to, or looked back at."""

    changes: int
    generation: int
    peculiar: int


class Rebinding(NamedTuple):
    """What a call made of module variables, when nothing had been changed before it."""

    values: tuple[tuple[Any, Value], ...]
    generation: int
    """The state that it leads to."""


class Journal:
    """What has been changed since the last module was begun."""

    def __init__(self) -> None:
        self._changes: list[_Change] = []
        self.outstanding: int = 0
        """Changes that others can see now: what is worked out on top of them holds for this module only."""
        self.shared: int = 0
        """Changes to objects that other calls can see: a call that made one may not be remembered."""
        self.peculiar: int = 0
        """Looks at what only the module at hand has bound, and changes to its environment."""
        self.generation: int = 0
        """Numbers the state that what others can see is in; 0 when nothing has been changed."""
        self._generations = 0

    def note(self, target: Mapping | Sequence) -> None:
        """Keep what `target` holds, before all of it may be changed."""
        held = dict(target.items) if isinstance(target, Mapping) else target.items
        self._changes.append(_Change(target, held, target.exact, target.doubtful, target.shared, target))
        if target.shared:
            self._count()

    def note_entry(self, entries: dict[Any, Value], key: object, owner: Owner) -> None:
        """Keep what one entry holds, before it is changed."""
        shared = owner is None or owner.shared
        self._changes.append(_Change(entries, (key, entries.get(key)), True, False, shared, owner))
        if shared:
            self._count()

    def _count(self) -> None:
        """Count a change that others can see: it leads to a state that nothing is known of."""
        self.shared += 1
        self.outstanding += 1
        self._generations += 1
        self.generation = self._generations

    def note_peculiar(self) -> None:
        """Count what makes a call worth following for each module anew, beside changes."""
        self.shared += 1
        self.peculiar += 1

    def note_variable(self, variables: dict[Any, Value], name: object) -> None:
        """Keep what a variable of an enclosing function or a module holds, before a call rebinds it."""
        self.note_entry(variables, name, None)

    def is_as_at(self, mark: Mark) -> bool:
        """Whether nothing was changed behind `mark`."""
        return len(self._changes) == mark.changes

    def changed_since(self, mark: Mark) -> Iterator[tuple[Mapping | Sequence | dict[Any, Value], Any]]:
        """The changes behind `mark`: containers, and variables with the names of theirs."""
        for change in self._changes[mark.changes :]:
            yield change.target, change.held[0] if isinstance(change.target, dict) else None

    def rebound_since(self, mark: Mark, variables: dict[Any, Value]) -> Rebinding | None:
        """What these variables have been given behind `mark`, if nothing else was changed there."""
        behind = self._changes[mark.changes :]
        if not behind or any(change.target is not variables for change in behind):
            return None
        names = dict.fromkeys([change.held[0] for change in behind])
        return Rebinding(tuple([(name, variables[name]) for name in names]), self.generation)

    def rebind(self, variables: dict[Any, Value], again: Rebinding) -> None:
        """Give variables what a call gave them before."""
        for name, value in again.values:
            self.note_variable(variables, name)
            variables[name] = value
        self.generation = again.generation

    def mark(self) -> Mark:
        """Where the journal is now."""
        return Mark(len(self._changes), self.generation, self.peculiar)

    def forget(self, mark: Mark) -> None:
        """Undo what was changed behind `mark`, for others to see, by code that was only looked at."""
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
        """Let stand what was changed behind `mark` before others could see it: they may ask for it again."""
        if self.is_as_at(mark):
            return
        behind = self._changes[mark.changes :]
        del self._changes[mark.changes :]
        self._changes += [one for one in behind if one.shared or one.owner is None or not one.owner.shared]

    def settle(self, mark: Mark) -> None:
        """Let stand what a call that is remembered has changed for itself: its result holds it."""
        if self.is_as_at(mark):
            return
        behind = self._changes[mark.changes :]
        del self._changes[mark.changes :]
        self._changes += [change for change in behind if change.shared]

    def roll_back(self) -> None:
        """Put everything back as it was."""
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
