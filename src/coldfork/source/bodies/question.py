"""A question about one function: where it stands, and what its process holds that it may read."""

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
"""Names with what they hold: `{"is": 3}` for a constant, `{"device": "cpu"}`, None for anything else."""


@dataclass(frozen=True, slots=True)
class Question:
    """One function, as the process that would run it describes it."""

    file: str
    module: str
    """The name of the module that the function is defined in."""
    function: str
    """Its qualified name, as the interpreter has it."""
    line: int
    """Where its code begins; the first decorator counts."""
    code: str
    """The instructions, in hexadecimal digits: the file may have changed since it was loaded."""
    closure: Given
    """The variables of the functions around it."""
    owner: tuple[str, str] | None
    """Module and qualified name of the class whose object is called; None for a plain function."""
    attributes: Given
    """What that object holds."""
    arguments: Given | None
    """Its arguments, by parameter; None where nobody knows."""
    iterated: bool
    """Whether what the call returns is iterated, until it yields for the first time."""
    modules: ReadOnly[str, Given]
    """What the modules hold whose sources may be followed."""
    classes: ReadOnly[str, ReadOnly[str, Given]]
    """What their classes hold."""
    files: ReadOnly[str, str]
    """The files of modules that stand in no folder of `roots` under their name."""
    roots: tuple[str, ...]
    """The folders of the sources that may be followed."""
    search: tuple[str, ...]
    """Where the libraries are; only their versions are looked at."""
    counted: bool
    """Whether PyTorch has counted the devices in the process."""
    profile: str
    version: tuple[int, int]

    @classmethod
    def read(cls, said: ReadOnly[str, Any]) -> Question:
        """The question in what was sent."""
        tuples = {name: tuple(said[name]) for name in ("roots", "search", "version")}
        owner = said["owner"]
        return cls(**{**said, **tuples, "owner": None if owner is None else tuple(owner)})


class GivenValues:
    """Values as a question gives them; `find` looks up a class, and `define` makes a function."""

    def __init__(
        self,
        find: Callable[[str, str], ClassRef | None],
        define: Callable[[str, str, int, str, Env], Value],
    ) -> None:
        self._find = find
        self._define = define
        self.objects: list[Instance] = []
        """The objects that have been given."""

    def all_of(self, given: Given) -> dict[str, Value]:
        """The values of some variables, as far as they are known."""
        return {name: self.one(value) for name, value in given.items()}

    def one(self, given: Any) -> Value:
        """The value of a variable that holds this, as far as it is known."""
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
        """An object of a class that holds this."""
        made = Instance(cls)
        made.attributes.update(self.all_of(holds))
        self.objects.append(made)
        return made
