"""Changes to objects that outlive a call: undone when the module that made them has been followed.

Every module is followed as if it were the first to be imported. What one module's import leaves in a
registry or a singleton must not be there yet when the next one is followed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from coldfork.source.values.kinds import Mapping, Sequence, Value


class _Change(NamedTuple):
    """What something held before it was changed."""

    target: Mapping | Sequence | dict[Any, Value]
    held: Any
    exact: bool
    doubtful: bool
    shared: bool
    """True when calls other than the one that made it can see the object."""


class Journal:
    """What has been changed since the last module was begun."""

    def __init__(self) -> None:
        self._changes: list[_Change] = []
        self.outstanding = 0
        """Changes that others can see now: what is worked out on top of them holds for this module only."""
        self.shared = 0
        """Changes to objects that other calls can see: a call that made one may not be remembered."""
        self.generation = 0
        """Counts the states that what others can see has been in."""

    def note(self, target: Mapping | Sequence) -> None:
        """Keep what `target` holds, before all of it may be changed."""
        held = dict(target.items) if isinstance(target, Mapping) else target.items
        self._changes.append(_Change(target, held, target.exact, target.doubtful, target.shared))
        self.shared += target.shared
        self.outstanding += target.shared
        self.generation += target.shared

    def note_entry(self, entries: dict[Any, Value], key: object, shared: bool) -> None:
        """Keep what one entry holds, before it is changed."""
        self._changes.append(_Change(entries, (key, entries.get(key)), True, False, shared))
        self.shared += shared
        self.outstanding += shared
        self.generation += shared

    def note_variable(self, variables: dict[Any, Value], name: object) -> None:
        """Keep what a variable of an enclosing function or a module holds, before a call rebinds it."""
        self.note_entry(variables, name, shared=True)

    def mark(self) -> int:
        """Where the journal is now, for `forget`."""
        return len(self._changes)

    def forget(self, mark: int) -> None:
        """Undo what was changed behind `mark`, for others to see, by code that was only looked at."""
        if len(self._changes) == mark:
            return
        behind = self._changes[mark:]
        del self._changes[mark:]
        for change in reversed(behind):
            if change.shared:
                _restore(change)
                self.outstanding -= 1
                self.generation += 1
        self._changes += [change for change in behind if not change.shared]

    def roll_back(self) -> None:
        """Put everything back as it was."""
        for change in reversed(self._changes):
            _restore(change)
        self._changes.clear()
        self.outstanding = 0


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
