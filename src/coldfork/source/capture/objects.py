"""What names hold while captured code is followed: definitions, names from outside, objects with identity.

Other than the values of an import, these are not about what a name *is* but about *which* object it is: a
flag that the warm-up sets matters to a capture only if both look at the same object.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from coldfork.source.program.module import Module
from coldfork.source.syntax.nodes import Code
from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import ClassRef, Const, External, ModuleRef, Super
from coldfork.source.values.kinds import Value as AnyValue

#: What made an object that a call gave of which nothing else is known: it is taken for something, not None.
SOME_CALL = "()"
#: Any item of a container whose keys are not known.
ANY = "[*]"

#: The place of what a weak reference leads to.
REFERENT = "()"
#: What does not keep its parts alive, and how their keys begin.
_WEAKLY = {"weakref.ref": REFERENT, "weakref.WeakValueDictionary": "["}


class Env:
    """The names of a function, and of those around it."""

    __slots__ = ("globals", "levels", "names", "nonlocals", "outer", "own")

    def __init__(self, outer: Env | None = None) -> None:
        self.names: dict[str, Value] = {}
        self.levels: dict[str, int] = {}
        self.outer = outer
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.own: Object | None = None
        """The object whose method this is."""

    def holder(self, name: str) -> Env | None:
        """The nearest function that binds a name."""
        return next((env for env in self.outwards() if name in env.names), None)

    def target(self, name: str) -> Env:
        """The function whose name an assignment binds."""
        outer = self.outer.holder(name) if self.outer is not None and name in self.nonlocals else None
        return outer or self

    def outwards(self) -> Iterator[Env]:
        """This function and those around it, the innermost first."""
        env: Env | None = self
        while env is not None:
            yield env
            env = env.outer


class Func:
    """A function of the checked code, perhaps bound to an object, with the names around it."""

    __slots__ = ("bound", "code", "env", "line", "module", "name", "owner", "remembers")

    def __init__(
        self,
        module: Module,
        code: Code,
        name: str,
        line: int,
        env: Env | None = None,
        owner: ClassRef | None = None,
        bound: Object | ClassRef | None = None,
        remembers: bool = False,
    ) -> None:
        self.module = module
        self.code = code
        self.name = name
        self.line = line
        self.env = env
        self.owner = owner
        self.bound = bound
        self.remembers = remembers
        """True when it computes once for the same arguments."""

    @property
    def symbol(self) -> str:
        """How chains call it."""
        return f"{self.owner.name}.{self.name}" if self.owner is not None else self.name

    @property
    def place(self) -> tuple[str, int]:
        """Where it is defined."""
        return self.module.name, self.line

    @property
    def identity(self) -> tuple[object, ...]:
        """What tells it, with what it is bound to, from every other function."""
        bound = id(self.bound) if isinstance(self.bound, ClassRef) else self.bound
        return "function", *self.place, bound

    def around(self) -> Iterator[Env]:
        """The functions around it, the innermost first."""
        return self.env.outwards() if self.env is not None else iter(())

    def of(self, owner: Object | ClassRef) -> Func:
        """The same function as a method of an object, or of a class."""
        return Func(self.module, self.code, self.name, self.line, self.env, self.owner, owner, self.remembers)


class Tensor(NamedTuple):
    """What is known of a tensor."""

    device: str = ""
    """`cuda`, `cpu`, or nothing when it is not known."""
    mask: bool = False
    """True when it holds truth values."""


class Work(NamedTuple):
    """What was done while somebody listened: how much it depends on data, its text, and what holds it."""

    level: int
    text: str
    target: Object
    value: Object
    """What holds the outcome: the target itself, or what was put into it."""


class First(NamedTuple):
    """Work that is done on the first run only: where, how much of it depends on data, and what does it."""

    module: str
    line: int
    level: int
    work: str
    runs: int
    """How many calls there had been."""
    captured: bool
    """True when a capture has recorded it."""
    conditions: tuple[Condition, ...] = ()
    works: tuple[Work, ...] = ()
    """What it was."""


class Spared(NamedTuple):
    """What stays as a first run left it, unless these conditions hold."""

    first: First
    value: Value | None
    unless: tuple[Condition, ...]


class Object(AnyValue):
    """An object with an identity: a parameter, an instance, a container, the result of a call."""

    __slots__ = (
        "added",
        "among",
        "base",
        "before",
        "cls",
        "data",
        "done",
        "escaped",
        "given",
        "gone",
        "keys",
        "kind",
        "made_by",
        "name",
        "origin",
        "parts",
        "present",
        "spared",
        "tensor",
        "typed",
        "under",
    )

    def __init__(self, name: str, before: bool, cls: ClassRef | None = None, made_by: str = "") -> None:
        self.name = name
        self.before = before
        """True when it is there before the function that is followed runs."""
        self.cls = cls
        self.made_by = made_by
        self.parts: dict[str, Value] = {}
        """Attributes by name, items as `[key]`."""
        self.kind = ""
        """`list`, `tuple`, `set` or `dict`, when it is known to be one."""
        self.keys: tuple[str, ...] | None = None
        """The keys of its parts that make up the whole container, when these are all."""
        self.under: tuple[object, ...] = ()
        """What had to hold where a container was made, and the loops around it."""
        self.tensor: Tensor | None = None
        self.present = False
        """True when an annotation says that it is not None."""
        self.typed: ClassRef | None = None
        """The class that an annotation gives it: it tells what the attributes are, not which methods run."""
        self.done: dict[str, First] = {}
        """Attributes that were initialised lazily so far."""
        self.spared: dict[str, Spared] = {}
        """What was initialised lazily, and then set anew on a condition that may not hold."""
        self.given: set[str] = set()
        """Attributes that were assigned where it could be seen."""
        self.gone: set[str] = set()
        """Attributes and items that were taken away where it could be seen."""
        self.base: Object | None = None
        """The tensor whose memory it shows a part of."""
        self.data: tuple[int, str] = (0, "")
        """How much what it holds depends on the batch, and what computed it; noted while somebody listens."""
        self.among: tuple[Object, ...] = ()
        """The objects of which it is one, where it is not known which."""
        self.added = 0
        """How many times something was put into it where it could be seen."""
        self.origin: Object | None = None
        """What it is a copy of."""
        self.escaped = False
        """True when code that was not followed may have called it."""

    @property
    def memory(self) -> Object:
        """The tensor whose memory this is a view of; itself if it is none."""
        return self.base.memory if self.base is not None else self

    def part(self, key: str) -> Value:
        """An attribute or item; one that is met for the first time is as old as the object."""
        found = self.parts.get(key)
        if found is None and key.startswith("["):
            found = self.parts.get(ANY)
        if found is None:
            joint = key if key.startswith("[") else f".{key}"
            found = self.parts[key] = Object(f"{self.name}{joint}", self.before)
        return found

    def items(self) -> list[Value]:
        """The different items that are known."""
        found: list[Value] = []
        for key, value in self.parts.items():
            if key.startswith("[") and not any(value is other for other in found):
                found.append(value)
        return found

    def elements(self) -> list[Value] | None:
        """Every item of a sequence, in order, if they are all known."""
        if self.keys is None or self.kind not in ("list", "tuple"):
            return None
        return [self.parts[key] for key in self.keys]

    def entries(self) -> dict[str, Value] | None:
        """Every entry of a dictionary whose keys are text, if they are all known."""
        if self.keys is None or self.kind != "dict":
            return None
        return {key[2:-2]: self.parts[key] for key in self.keys if key[1] in "'\""}

    def holds(self, other: Object, seen: set[int] | None = None) -> bool:
        """True when the other object is this one or part of it."""
        if self is other:
            return True
        seen = seen if seen is not None else set()
        seen.add(id(self))
        weak = _WEAKLY.get(self.made_by, "")
        strong = [part for key, part in self.parts.items() if not weak or not key.startswith(weak)]
        return any(
            type(part) is Object and id(part) not in seen and part.holds(other, seen)
            for part in [*strong, self.base]
        )


class Arguments(NamedTuple):
    """What a call hands over."""

    positional: list[Value]
    keywords: dict[str, Value]
    levels: list[int]
    """How much the positional ones depend on the batch."""
    spread: tuple[Value, ...] = ()
    """What comes from `*` on, where its items are not known, and may go to any parameter."""
    options: tuple[Value, ...] = ()
    """What `**` brings, where its keys are not known."""

    @property
    def values(self) -> list[Value]:
        """All that is handed over."""
        return [*self.positional, *self.spread, *self.keywords.values(), *self.options]


Value = Const | External | ModuleRef | ClassRef | Super | Func | Object
