"""A question about one function: where it is defined, and the values that it may read in its process."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as ReadOnly
from dataclasses import dataclass
from typing import Any

from coldfork.source.values.kinds import (
    NATURAL,
    UNKNOWN,
    ClassRef,
    Const,
    Env,
    External,
    Instance,
    Mapping,
    Sequence,
    Value,
)

Given = ReadOnly[str, Any]
"""Names with their values: `{"is": 3}` for a constant, `{"device": "cpu"}` for a device, None for anything
else.
"""


@dataclass(frozen=True, slots=True)
class Question:
    """A question about one function, asked by the process that would run it."""

    file: str
    module: str
    """The name of the module that defines the function."""
    function: str
    """The function's qualified name, as the interpreter gives it."""
    line: int
    """The line where the function's code begins, including decorators."""
    code: str
    """The function's instructions in hexadecimal digits, since the file may have changed after it
    was loaded.
    """
    closure: Given
    """The variables of the enclosing functions."""
    owner: tuple[str, str] | None
    """The module and qualified name of the class whose method is called; None for a plain function."""
    attributes: Given
    """The attributes of the object whose method is called."""
    arguments: Given | None
    """The arguments of the call, by parameter; None if unknown."""
    iterated: bool
    """Whether the result of the call is iterated, up to the first item."""
    modules: ReadOnly[str, Given]
    """The variables of the modules whose sources may be followed."""
    classes: ReadOnly[str, ReadOnly[str, Given]]
    """The attributes of the classes in these modules."""
    files: ReadOnly[str, str]
    """The files of those modules that cannot be found by name in a folder of `roots`."""
    roots: tuple[str, ...]
    """The folders of the sources that may be followed."""
    search: tuple[str, ...]
    """The folders of the libraries; only the libraries' versions are read there."""
    counted: bool
    """Whether PyTorch has counted the devices in the process."""
    profile: str
    version: tuple[int, int]

    @classmethod
    def read(cls, said: ReadOnly[str, Any]) -> Question:
        """Parse a question from a message."""
        tuples = {name: tuple(said[name]) for name in ("roots", "search", "version")}
        owner = said["owner"]
        return cls(**{**said, **tuples, "owner": None if owner is None else tuple(owner)})


class GivenValues:
    """Converts the values in a question; `find` looks up a class, and `define` makes a function."""

    def __init__(
        self,
        find: Callable[[str, str], ClassRef | None],
        define: Callable[[str, str, int, str, Env], Value],
    ) -> None:
        self._find = find
        self._define = define
        self.objects: list[Instance] = []
        """The objects made for this question."""

    def all_of(self, given: Given) -> dict[str, Value]:
        """Return these variables with their values, as far as the values are known."""
        return {name: self.one(value) for name, value in given.items()}

    def one(self, given: Any) -> Value:
        """Return the value described by a part of the message, as far as it is known."""
        match given:
            case {"is": value}:
                return Const(value)
            case {"natural": True}:
                return NATURAL
            case {"device": str(name)}:
                return External(f"torch.device({name})")
            case {"of": str(name)}:
                return External(f"{name}()")
            case {"items": [*items], "kind": str(kind)}:
                return Sequence(kind, tuple(map(self.one, items)))
            case {"entries": dict(entries)}:
                return Mapping({Const(key): self.one(value) for key, value in entries.items()})
            case {"object": [module, qualified], "holds": dict(holds)}:
                cls = self._find(module, qualified)
                return UNKNOWN if cls is None else self.instance(cls, holds)
            case {"function": [module, name], "line": int(line), "code": str(code), "closure": dict(closure)}:
                env = Env()
                env.names = self.all_of(closure)
                return self._define(module, name, line, code, env)
        return UNKNOWN

    def instance(self, cls: ClassRef, holds: Given) -> Instance:
        """Return an object of a class with these attributes."""
        made = Instance(cls)
        made.attributes.update(self.all_of(holds))
        self.objects.append(made)
        return made
