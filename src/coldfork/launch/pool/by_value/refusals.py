"""Find out which function uses a global that cannot be sent to another process."""

from __future__ import annotations

import pickle
from itertools import chain
from types import FunctionType

from coldfork.launch.pool.by_value.parts import has_content, names_in
from coldfork.model.errors import ColdforkError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class CannotBeSentError(ColdforkError, pickle.PicklingError):
    """Raised on submission if the task's function refers to an object that cannot be sent."""

    def __init__(self, message: str, user: str, name: str, kind: str) -> None:
        super().__init__(message, user, name, kind)
        self.message = message
        self.user = user
        """The function or class that refers to the object."""
        self.name = name
        """The global, variable or attribute that holds it."""
        self.kind = kind
        """The type of the object that cannot be sent."""

    def __str__(self) -> str:
        return self.message


def explained(failed: Any) -> CannotBeSentError | None:
    """Return an error that names the function or class that uses the object at which this `Sender` failed."""
    wider: CannotBeSentError | None = None
    for thing in reversed(failed.taken_apart):
        for how, name, value in _uses(thing, failed):
            if isinstance(value, FunctionType | type) and failed.is_by_value(value):
                continue  # its own uses are examined separately
            trial = failed.like_this()
            try:
                trial.dump(value)
            except Exception:
                refusal = _refusal(thing, how, name, value, trial.last)
                if not trial.taken_apart:
                    return refusal
                wider = wider or refusal
    return wider


def _refusal(user: Any, how: str, name: str, value: object, culprit: object) -> CannotBeSentError:
    kind = _called(culprit)
    what = f"{_an(kind)}," if culprit is value else f"{_an(_called(value))} that holds {_an(kind)},"
    message = (
        f"{user.__qualname__} {how} `{name}`, {what} which cannot be sent to another process; make it "
        "inside the task, or pass what it is made from"
    )
    return CannotBeSentError(message, user.__qualname__, name, kind)


def _uses(thing: Any, failed: Any) -> Iterator[tuple[str, str, object]]:
    """Yield the objects that a function or class refers to, each with the kind of reference and the name."""
    if isinstance(thing, FunctionType):
        code = thing.__code__
        for name in sorted(names_in(code)[0]):
            if name in thing.__globals__ and failed.brings_globals(thing):
                yield "uses the global", name, thing.__globals__[name]
        for name, cell in zip(code.co_freevars, thing.__closure__ or (), strict=True):
            if has_content(cell):
                yield "uses the variable", name, cell.cell_contents
        defaults = thing.__defaults__ or ()
        parameters = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
        positional = zip(parameters, defaults, strict=True)
        for name, value in chain(positional, (thing.__kwdefaults__ or {}).items()):
            yield "has the default", name, value
    for name, value in thing.__dict__.items():
        if name not in ("__dict__", "__weakref__", "_abc_impl"):
            yield "has the attribute", name, value


def _called(value: object) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _an(name: str) -> str:
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"
