"""The values that a name may have while an import is followed: constants, functions, classes,
unknown values.
"""

from __future__ import annotations

from typing import Any

from coldfork.source.program.module import Module
from coldfork.source.syntax.nodes import Class, Code, Node
from coldfork.source.values.conditions import Condition


class Value:
    """The base class of all values."""

    __slots__ = ()


class Unknown(Value):
    """A value that nothing is known about."""

    __slots__ = ("truthy",)

    def __init__(self, truthy: bool = False) -> None:
        self.truthy: bool = truthy


UNKNOWN = Unknown()
TRUTHY = Unknown(truthy=True)
#: The last argument of a call that passes an unknown number of further arguments.
REST = Unknown()
#: An unknown whole number that is not negative.
NATURAL = Unknown()
#: The unknown version of a distribution: some release number.
RELEASE = Unknown(truthy=True)


class Const(Value):
    """A constant: None, a bool, a number, a text, or a tuple of constants."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value: Any = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Const):
            return False
        mine, others = self.value, other.value
        return type(mine) is type(others) and bool(mine == others)

    def __hash__(self) -> int:
        return hash(self.value)  # `__eq__` distinguishes equal values of different types


NONE = Const(None)
TRUE = Const(True)
FALSE = Const(False)


class ModuleRef(Value):
    """A module with source."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name: str = name

    def __eq__(self, other: object) -> bool:
        return type(other) is ModuleRef and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


class External(Value):
    """An object without source, known only by its dotted name; `()` in the name stands for a call's
    result.
    """

    __slots__ = ("is_module", "name")

    def __init__(self, name: str, is_module: bool = False) -> None:
        self.name: str = name
        self.is_module: bool = is_module

    def __eq__(self, other: object) -> bool:
        return type(other) is External and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


#: The positional arguments of a call, or the items of a container.
Values = tuple[Value, ...]
#: The keyword arguments of a call; None is the key of those that `**` passes under unknown names.
Keywords = dict[str | None, Value]


class Env:
    """The variables of one function call or class body, with a link to those of the enclosing scope."""

    __slots__ = ("names", "outer")

    def __init__(self, outer: Env | None = None) -> None:
        self.names: dict[str, Value] = {}
        self.outer: Env | None = outer


class Function(Value):
    """A function with source, and the variables of its enclosing functions."""

    __slots__ = ("cached", "code", "context", "env", "line", "module", "name", "named", "owner")

    def __init__(
        self,
        module: Module,
        line: int,
        name: str,
        code: Code | None,
        env: Env | None = None,
        owner: ClassRef | None = None,
    ) -> None:
        self.module: Module = module
        self.line: int = line
        self.name: str = name
        self.code: Code | None = code
        self.env: Env | None = env
        self.owner: ClassRef | None = owner
        self.context: bool = False
        """True after `contextlib.contextmanager`: the body runs when the context is entered."""
        self.named: bool = False
        """True for a local function bound to a global name, by which pickle can find it."""

    @property
    def qualified(self) -> str:
        """The function's name with that of its class, as a traceback shows it."""
        return f"{self.owner.name}.{self.name}" if self.owner else self.name


class ClassRef(Value):
    """A class with source."""

    __slots__ = (
        "bases", "binds", "dataclass", "env", "line", "linear", "linear_mask", "members", "meta", "module",
        "name", "outside", "qualified", "scope", "statement",
    )  # fmt: skip

    def __init__(self, module: Module, node: Node, env: Env | None, qualified: str) -> None:
        self.module: Module = module
        self.statement: Class = Class._make(node)
        self.line: int = self.statement.line
        self.name: str = self.statement.name
        self.qualified: str = qualified
        self.binds: dict[str, tuple[Node, ...]] = self.statement.binds
        self.env: Env | None = env
        self.scope: Env | None = env
        """The scope in which the bases are looked up; for a class inside a class, this is the outer body."""
        self.linear: Values | None = None
        self.linear_mask: int = 0
        self.meta: Value | None = None
        self.dataclass: bool = False
        self.members: dict[str, Instance] = {}
        """Members of an enumeration, one object each."""
        self.outside: dict[str, Value] | None = None
        """Attributes that followed code has set after the class body."""


class Instance(Value):
    """An object of a known class; `open` if an annotation gave the class, so that it may be a subclass."""

    __slots__ = ("attributes", "cls", "open", "shared")

    def __init__(self, cls: ClassRef, open_: bool = False) -> None:
        self.cls: ClassRef = cls
        self.attributes: dict[str, Value] = {}
        self.open: bool = open_
        self.shared: bool = False

    @property
    def is_member(self) -> bool:
        """True if the object is a member of an enumeration."""
        return any(member is self for member in self.cls.members.values())


class Attributes(Value):
    """The `__dict__` of an object, used as a value."""

    __slots__ = ("owner",)

    def __init__(self, owner: Instance) -> None:
        self.owner: Instance = owner

    @property
    def held(self) -> Mapping:
        """The current content of the `__dict__`."""
        items: dict[Value, Value] = {Const(name): value for name, value in self.owner.attributes.items()}
        return Mapping(items, exact=False, doubtful=False)


class ClassEnv(Env):
    """The names of a class body, looked up when needed; its methods cannot see them."""

    __slots__ = ("cls",)

    def __init__(self, cls: ClassRef) -> None:
        super().__init__(cls.env)
        self.cls: ClassRef = cls


class Bound(Value):
    """A method with the object that it was read from."""

    __slots__ = ("function", "receiver")

    def __init__(self, function: Value, receiver: Value) -> None:
        self.function: Value = function
        self.receiver: Value = receiver

    def __eq__(self, other: object) -> bool:
        return type(other) is Bound and self.function is other.function and self.receiver is other.receiver

    def __hash__(self) -> int:
        return hash((id(self.function), id(self.receiver)))


class Method(Value):
    """A method of a built-in value, known by its name."""

    __slots__ = ("name", "receiver")

    def __init__(self, receiver: Value, name: str) -> None:
        self.receiver: Value = receiver
        self.name: str = name


class Sequence(Value):
    """A list, tuple or set; `exact` if it has no further elements.

    It is `doubtful` if the object may be empty, because no element is certain to have been added.
    """

    __slots__ = ("doubtful", "exact", "items", "kind", "shared")

    def __init__(self, kind: str, items: Values, exact: bool = True, doubtful: bool | None = None) -> None:
        self.kind: str = kind
        self.items: Values = items
        self.exact: bool = exact
        self.doubtful: bool = not exact if doubtful is None else doubtful
        self.shared: bool = False


class Mapping(Value):
    """A dictionary; `exact` if it has no further keys, `doubtful` as for a sequence."""

    __slots__ = ("doubtful", "exact", "items", "shared")

    def __init__(self, items: dict[Value, Value], exact: bool = True, doubtful: bool | None = None) -> None:
        self.items: dict[Value, Value] = items
        self.exact: bool = exact
        self.doubtful: bool = not exact if doubtful is None else doubtful
        self.shared: bool = False


class Partial(Value):
    """A `functools.partial` object."""

    __slots__ = ("function", "keywords", "positional")

    def __init__(self, function: Value, positional: Values, keywords: Keywords) -> None:
        self.function: Value = function
        self.positional: Values = positional
        self.keywords: Keywords = keywords


class Lazy(Value):
    """A generator, coroutine or context manager, whose body runs when it is used; or a `partialmethod`."""

    __slots__ = ("call", "kind")

    def __init__(self, kind: str, call: tuple[Value, Values, Keywords]) -> None:
        self.kind: str = kind
        self.call: tuple[Value, Values, Keywords] = call


class Property(Value):
    """A `property` or `functools.cached_property` of a class."""

    __slots__ = ("deleter", "getter", "setter")

    def __init__(self, getter: Value, setter: Value | None = None, deleter: Value | None = None) -> None:
        self.getter: Value = getter
        self.setter: Value | None = setter
        self.deleter: Value | None = deleter


class ClassMethod(Value):
    """A `classmethod` object."""

    __slots__ = ("function",)

    def __init__(self, function: Value) -> None:
        self.function: Value = function


class StaticMethod(Value):
    """A `staticmethod` object."""

    __slots__ = ("function",)

    def __init__(self, function: Value) -> None:
        self.function: Value = function


class Super(Value):
    """The result of `super()` in a method: attributes are looked up in the classes that follow `after`."""

    __slots__ = ("after", "receiver")

    def __init__(self, after: ClassRef, receiver: Value) -> None:
        self.after: ClassRef = after
        self.receiver: Value = receiver


class Union(Value):
    """One of several values; each has the condition under which it occurs off the nominal path, or None."""

    __slots__ = ("alternatives",)

    def __init__(self, alternatives: tuple[tuple[Value, Condition | None], ...]) -> None:
        self.alternatives: tuple[tuple[Value, Condition | None], ...] = alternatives

    def __eq__(self, other: object) -> bool:
        return type(other) is Union and self.alternatives == other.alternatives

    def __hash__(self) -> int:
        return hash(self.alternatives)


#: Values that are equal only if identical, so that one can be looked up among known keys.
SETTLED = (Const, Function, ClassRef, ModuleRef)
