"""What the names of the checked code mean, read from bindings alone: definitions, imports, classes.

A name with several meanings, or one that only running the module could tell, is not followed.
"""

from __future__ import annotations

from collections.abc import Sequence

from coldfork.source.capture.objects import Env, Func, Object, Value
from coldfork.source.program.module import Module
from coldfork.source.program.program import Program
from coldfork.source.semantics.defined_classes import DefinedClasses
from coldfork.source.semantics.method_order import Hierarchy, linearised
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Binding, Node, called, code_of, last_name, text_constant
from coldfork.source.values.kinds import ClassRef, Const, External, ModuleRef

_DEEPEST = 12
#: Decorators that compute once for the same arguments, or for the same object.
_REMEMBERING = frozenset({"functools.cache", "functools.lru_cache"})
#: Decorators that leave a function what it is; anything else of torch does too.
_TRANSPARENT = (
    frozenset(
        {
            "staticmethod",
            "classmethod",
            "property",
            "override",
            "typing.override",
            "functools.cached_property",
            "functools.wraps",
        }
    )
    | _REMEMBERING
)
_TRANSPARENT_ROOTS = frozenset({"torch", "nvtx", "typing", "typing_extensions"})
_ABSTRACT = frozenset({"abc.ABC", "typing.Protocol", "typing_extensions.Protocol"})
#: Bases from elsewhere that define nothing that captured code would call instead of its own.
_BARE = _ABSTRACT | {"object", "typing.Generic", "torch.nn.Module", "torch.nn.modules.module.Module"}
_ENUMS = frozenset({"enum.Enum", "enum.IntEnum", "enum.StrEnum", "enum.Flag", "enum.IntFlag"})


#: What the bases of a class can be; an object where that is not to be known.
Base = ClassRef | External | Object


class Names(Hierarchy[Base, list[Binding]]):
    """Looks names up in the checked modules and their classes."""

    def __init__(self, program: Program, classes: DefinedClasses, bases: frozenset[str]) -> None:
        self.program = program
        self.classes = classes
        self._globals: dict[str, Object] = {}
        self._orders: dict[ClassRef, tuple[Base, ...]] = {}
        self.decorated: dict[int, tuple[Object, Module, Node, ClassRef | None]] = {}
        """What a decorator of the checked code, or one that is not known, makes of a function."""
        self._depth = 0
        self._bases = bases

    def module(self, name: str) -> Module | None:
        """A module of the checked code."""
        located = self.program.find(name)
        return self.program.module(name) if located is not None and located.own else None

    def globals_of(self, module: Module) -> Object:
        """The object whose attributes are a module's globals."""
        shared = self._globals.get(module.name)
        if shared is None:
            shared = self._globals[module.name] = Object("", True)
        return shared

    def imported(self, dotted: str) -> Value:
        """What `import dotted` gives."""
        return ModuleRef(dotted) if self.module(dotted) is not None else External(dotted)

    def of_module(self, module: Module, name: str) -> Value | None:
        """What a name of a module means; None when it has none, an object when that is not to be known."""
        shared = self.globals_of(module)
        if name in shared.parts:
            return shared.parts[name]
        if self._depth > _DEEPEST:
            return None
        entries = _values(module.summary.binds, name)
        if not entries:
            return self.imported(f"{module.name}.{name}") if self._submodule(module, name) else None
        self._depth += 1
        try:
            # What some function declares `global` may hold anything by the time that captured code runs.
            entry = None if name in module.summary.rebound else _likeliest(entries)
            value = self._bound(module, None, name, entry)
        finally:
            self._depth -= 1
        shared.parts[name] = value
        return value

    def _submodule(self, module: Module, name: str) -> bool:
        return module.located.is_package and self.module(f"{module.name}.{name}") is not None

    def _bound(self, module: Module, owner: ClassRef | None, name: str, entry: Binding | None) -> Value:
        if entry is None:
            return Object(name, True)
        how, payload, _line, _guards = entry
        if how == nodes.BY_DEF:
            return self.function(module, payload, None, owner) or self._decorated(
                module, name, payload, owner
            )
        if how == nodes.BY_CLASS:
            return self.classes.of(module, payload, None, owner.qualified if owner is not None else "")
        if how == nodes.BY_IMPORT:
            dotted, aliased = payload
            return self.imported(dotted if aliased else dotted.partition(".")[0])
        if how == nodes.BY_LAZY_IMPORT:
            dotted, aliased, *_ = payload
            return self.imported(dotted if aliased else dotted.partition(".")[0])
        if how in (nodes.BY_FROM, nodes.BY_LAZY_FROM):
            source, level, wanted, *_ = payload
            return self.from_module(module.absolute(source, level), wanted)
        if how == nodes.BY_VALUE:
            return self._constant(module, name, payload)
        return Object(name, True)

    def from_module(self, target: str, name: str) -> Value:
        """What `from target import name` gives."""
        module = self.module(target)
        if module is None:
            return External(f"{target}.{name}")
        found = self.of_module(module, name)
        if found is None and self.module(f"{target}.{name}") is not None:
            return ModuleRef(f"{target}.{name}")
        return found if found is not None else Object(name, True)

    def _constant(self, module: Module, name: str, node: Node) -> Value:
        """A value that can be read off: a constant, another name, an instance of a class of ours."""
        match node:
            case (nodes.CONST, value):
                return Const(value)
            case (nodes.DICT, *_):
                return _container(name, "dict")
            case (nodes.SEQUENCE, ("list" | "set") as kind, _):
                return _container(name, kind)
            case (nodes.CALL, function, *_):
                made = self.static(module, function)
                if isinstance(made, ClassRef):
                    return Object(name, True, made)
                return Object(name, True, made_by=made.name if isinstance(made, External) else "")
        return self.static(module, node) or Object(name, True)

    def static(self, module: Module, node: Node) -> Value | None:
        """The meaning of a dotted expression at module level."""
        if node[0] == nodes.NAME:
            _, name, _ = node
            return self.of_module(module, name)
        if node[0] != nodes.ATTR:
            return None
        _, owner, name, _ = node
        base = self.static(module, owner)
        if isinstance(base, External):
            return External(f"{base.name}.{name}")
        if isinstance(base, ModuleRef):
            return self.from_module(base.name, name)
        return self.of_class(base, name) if isinstance(base, ClassRef) else None

    # -- functions and classes ----------------------------------------------------------------------

    def function(
        self, module: Module, node: Node, env: Env | None, owner: ClassRef | None, bare: bool = False
    ) -> Func | None:
        """The function that a DEF node defines; None where a decorator may make something else of it.

        A `bare` one is the function that is handed to the decorators.
        """
        _, line, name, decorators, _header, raw = node
        if not bare and not all(self.transparent(module, decorator) for decorator, _ in decorators):
            return None
        code = code_of(raw) if raw is not None else module.code_at(line)
        if code is None or code.is_generator:
            return None  # a generator runs when somebody asks it to
        remembers = any(self._means(module, decorator, _REMEMBERING) for decorator, _ in decorators)
        return Func(module, code, name, line, env, owner, remembers=remembers)

    def _decorated(self, module: Module, name: str, node: Node, owner: ClassRef | None) -> Object:
        made = Object(name, True)
        self.decorated[id(made)] = (made, module, node, owner)
        return made

    def attributes_of(self, func: Func) -> Object:
        """The object that holds the attributes of a function, and what it remembers."""
        shared = self.globals_of(func.module)
        key = f"{func.symbol}:{func.line}"
        if key not in shared.parts:
            shared.parts[key] = Object(func.name, True)
        held = shared.parts[key]
        assert type(held) is Object
        return held

    def compares_by_value(self, cls: ClassRef) -> bool:
        """True for a class of which two objects with equal fields are one key."""
        named = any(isinstance(one, External) and one.name == "typing.NamedTuple" for one in self.order(cls))
        return named or (self.is_data_class(cls) and self.defined(cls, "__hash__") is None)

    def is_data_class(self, cls: ClassRef) -> bool:
        """True for a class whose annotations are its fields."""
        decorators = [last_name(called(node)) for node, _ in cls.statement.decorators]
        return "dataclass" in decorators

    def _means(self, module: Module, decorator: Node, names: frozenset[str]) -> bool:
        meaning = self.static(module, called(decorator))
        return isinstance(meaning, External) and meaning.name in names

    def transparent(self, module: Module, decorator: Node) -> bool:
        callee = called(decorator)
        if callee[0] == nodes.NAME and last_name(callee) in _TRANSPARENT:
            return True
        meaning = self.static(module, callee)
        if not isinstance(meaning, External):
            return False
        return meaning.name in _TRANSPARENT or meaning.name.partition(".")[0] in _TRANSPARENT_ROOTS

    def order(self, cls: Base) -> tuple[Base, ...]:
        if not isinstance(cls, ClassRef):
            return (cls,)
        known = self._orders.get(cls)
        if known is None:
            self._orders[cls] = (cls,)  # a class that is its own base must not loop
            bases = [self._base(cls, node) for node in cls.statement.bases]
            orders = [self.order(base) for base in bases]
            known = self._orders[cls] = linearised(cls, bases, orders)
        return known

    def _base(self, cls: ClassRef, node: Node) -> Base:
        """What a class derives from; an object where that is not to be known."""
        if node[0] == nodes.INDEX:
            _, node, _, _ = node
        meaning = self.static(cls.module, node)
        return meaning if isinstance(meaning, (ClassRef, External)) else Object("", True)

    def held(self, cls: Base, name: str) -> list[Binding] | None:
        return (_values(cls.binds, name) if isinstance(cls, ClassRef) else []) or None

    def defined(
        self, cls: ClassRef, name: str, after: ClassRef | None = None
    ) -> tuple[ClassRef, Binding] | None:
        """Where a class or its bases define a name, and how; `after` skips the classes up to that one."""
        found = self.member(cls, name, after)
        if found is None:
            return None
        owner, entries = found
        entry = _likeliest(entries)
        return (owner, entry) if entry is not None and isinstance(owner, ClassRef) else None

    def may_be_overridden(self, cls: ClassRef, owner: ClassRef) -> bool:
        """True when a class that is searched before the one that defines a name may define it too."""
        for base in self.order(cls):
            if base == owner:
                return False
            if isinstance(base, Object) or (isinstance(base, External) and base.name not in _BARE):
                return True
        return False

    def is_bare(self, base: Base) -> bool:
        """True for a base from elsewhere that defines nothing which captured code would ask for."""
        return isinstance(base, External) and base.name in _BARE

    def of_class(self, cls: ClassRef, name: str) -> Value | None:
        """What an attribute of a class means."""
        found = self.defined(cls, name)
        if found is None:
            return None
        owner, entry = found
        if self.is_enum(owner) and entry.how == nodes.BY_VALUE:
            return External(f"{owner.module.name}.{owner.name}.{name}")
        return self._bound(owner.module, owner, name, entry)

    def only(self, cls: ClassRef | None) -> ClassRef | None:
        """A class that nothing in the checked code derives from: what is declared to be one, is one."""
        if cls is None or cls.name in self._bases:
            return None
        abstract = any(isinstance(one, External) and one.name in _ABSTRACT for one in self.order(cls))
        return None if abstract else cls

    def is_enum(self, cls: ClassRef) -> bool:
        """True for a class whose attributes are the members of an enumeration."""
        return any(isinstance(one, External) and one.name in _ENUMS for one in self.order(cls))

    def fields(self, cls: ClassRef) -> list[str]:
        """The names that a data class or named tuple takes, in their order."""
        names: dict[str, None] = {}
        for one in reversed(self.order(cls)):
            if isinstance(one, ClassRef):
                binds = one.binds
                names |= dict.fromkeys(name for name in binds if _annotations(binds, name))
        return list(names)

    def match_arguments(self, cls: ClassRef) -> list[str] | None:
        """The attributes that positional patterns of a class stand for, if that is known."""
        found = self.defined(cls, "__match_args__")
        if found is None:
            return None
        _, entry = found
        match entry.how, entry.payload:
            case (nodes.BY_VALUE, (nodes.SEQUENCE, _, elements)):
                names = [text_constant(element) for element in elements]
                known = [name for name in names if name is not None]
                return known if len(known) == len(names) else None
        return None

    def annotation(self, cls: ClassRef, name: str) -> tuple[ClassRef, Node] | None:
        """The annotation that a class body gives a name."""
        for one in self.order(cls):
            if isinstance(one, ClassRef):
                typed = [a for a in _annotations(one.binds, name) if a != (nodes.CONST, None)]
                if typed:
                    return one, typed[-1]
        return None

    def made_by(self, module: Module, node: Node) -> Value | None:
        """The class or function of torch's whose call an expression is."""
        return self.static(module, called(node)) if node[0] == nodes.CALL else None


def _container(name: str, kind: str) -> Object:
    """A container of which nobody knows what it holds by now."""
    made = Object(name, True)
    made.kind = kind
    return made


def _values(binds: dict[str, tuple[Node, ...]], name: str) -> list[Binding]:
    """What gives a name a value, rather than only saying of what type it is."""
    return [Binding._make(entry) for entry in binds.get(name, ()) if entry[0] != nodes.BY_TYPE]


def _annotations(binds: dict[str, tuple[Node, ...]], name: str) -> list[Node]:
    """The annotations of a name without a value."""
    return [payload for how, payload, _line, _guards in binds.get(name, ()) if how == nodes.BY_TYPE]


def _likeliest(entries: Sequence[Binding]) -> Binding | None:
    """The only thing that a name can mean, once stand-ins for what is missing are left out."""
    missing = (nodes.BY_VALUE, (nodes.CONST, None))
    real = [entry for entry in entries if (entry.how, entry.payload) != missing] or entries
    if len(real) > 1 and all(entry.how in (nodes.BY_IMPORT, nodes.BY_FROM) for entry in real):
        return real[0] if len({(entry.how, entry.payload) for entry in real}) == 1 else None
    return real[0] if len(real) == 1 else None
