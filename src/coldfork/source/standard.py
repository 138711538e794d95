"""Models of built-in functions and of the standard library, as far as an import may depend on them."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import TYPE_CHECKING

from coldfork.source.branches import test_of
from coldfork.source.consume import awaited, iterate
from coldfork.source.lookup import module_object
from coldfork.source.mutate import set_attribute
from coldfork.source.values import (
    FALSE,
    NONE,
    RELEASE,
    TRUE,
    TRUTHY,
    UNKNOWN,
    Bound,
    ClassMethod,
    ClassRef,
    Condition,
    Const,
    External,
    Function,
    Instance,
    Lazy,
    Mapping,
    ModuleRef,
    Partial,
    Property,
    Sequence,
    StaticMethod,
    Super,
    Union,
    Value,
    alternatives,
    union,
)
from coldfork.source.wakes import Frame, Raised

if TYPE_CHECKING:
    from coldfork.source.evaluator import Evaluator

Keywords = dict[str | None, Value]
Model = Callable[["Evaluator", Frame, tuple[Value, ...], Keywords], Value | None]


def _first(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    return positional[0] if positional else None


def _transparent(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    """A decorator that hands back what it is given; called with options it is one still to be applied."""
    return positional[0] if positional and isinstance(positional[0], (Function, ClassRef, Union)) else None


def _cast(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    return positional[1] if len(positional) > 1 else None


def _partial(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    return Partial(positional[0], positional[1:], keywords) if positional else None


def _wraps(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    return External("functools.wraps()")


def _import_module(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    """`importlib.import_module` and `__import__` with a name that is known."""
    name = positional[0] if positional else keywords.get("name")
    package = positional[1] if len(positional) > 1 else keywords.get("package")
    if isinstance(name, Union):
        return ev.each(frame, name, lambda single: _import_one(ev, frame, single, package))
    return _import_one(ev, frame, name, package)


def _import_one(ev: Evaluator, frame: Frame, name: Value | None, package: Value | None) -> Value:
    if not isinstance(name, Const) or not isinstance(name.value, str) or not name.value:
        return UNKNOWN
    dotted = name.value
    if dotted.startswith("."):
        if not isinstance(package, Const) or not isinstance(package.value, str):
            return UNKNOWN
        level = len(dotted) - len(dotted.lstrip("."))
        base = package.value
        for _ in range(level - 1):
            base = base.rpartition(".")[0]
        dotted = f"{base}.{dotted[level:]}".rstrip(".")
    ev.imports(frame, dotted)
    return module_object(ev, dotted)


def _dunder_import(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    if not positional:
        return UNKNOWN
    imported = _import_one(ev, frame, positional[0], None)
    whole = len(positional) > 3 or "fromlist" in keywords
    if whole or not isinstance(positional[0], Const):
        return imported
    return module_object(ev, str(positional[0].value).partition(".")[0])


def _find_spec(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    """Whether a module can be found: yes when it is at hand; when not, nobody knows."""
    name = positional[0] if positional else None
    if isinstance(name, Const) and isinstance(name.value, str) and name.value:
        if "." in name.value:
            ev.imports(frame, name.value.rpartition(".")[0])  # finding a submodule imports its package
        if ev.program.exists(name.value) or ev.is_stdlib(name.value.partition(".")[0]):
            return TRUTHY
        if name.value.partition(".")[0] in ev.known_libraries:
            missing = Condition(words=f"{name.value} is not installed", presumes=f"{name.value} is installed")
            return Union(((TRUTHY, None), (NONE, missing)))
    return UNKNOWN


def _version(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    """`importlib.metadata.version`: from the environment at hand."""
    name = positional[0] if positional else None
    if isinstance(name, Const) and isinstance(name.value, str):
        known = ev.program.versions.get(name.value.lower().replace("_", "-"))
        if known is not None:
            return Const(known)
    return RELEASE


def _entry_points(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    """Entry points of the environment at hand, as objects that `load`."""
    group = keywords.get("group")
    if not isinstance(group, Const):
        return None
    found = ev.program.entry_points(str(group.value))
    return Sequence("tuple", tuple(External(f"importlib.metadata.EntryPoint[{target}]") for _, target in found))


def _getenv(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    """An environment variable: its default, unless the followed code has set it."""
    if not positional or not isinstance(positional[0], Const):
        return UNKNOWN
    name = str(positional[0].value)
    default = positional[1] if len(positional) > 1 else keywords.get("default", NONE)
    if name in ev.environment:
        value = ev.environment[name]
        return UNKNOWN if value is None else Const(value)
    condition = Condition(words=f"the environment variable {name} is set", presumes=f"{name} is unset")
    return Union(((default, None), (UNKNOWN, condition))) if not isinstance(default, Union) else default


def _setenv(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    from coldfork.source.assign import set_environment

    if len(positional) > 1 and isinstance(positional[0], Const):
        name = str(positional[0].value)
        if ev.environment.get(name) is None:
            set_environment(ev, frame, name, positional[1])
    return NONE


def _getattr(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    if len(positional) < 2:
        return UNKNOWN
    names = [name for name, _ in alternatives(positional[1])]
    if all(isinstance(name, Const) for name in names):
        return union([ev.attribute(frame, positional[0], str(name.value)) for name in names if isinstance(name, Const)])
    return UNKNOWN


def _hasattr(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    if len(positional) != 2 or not isinstance(positional[1], Const):
        return UNKNOWN
    name = str(positional[1].value)
    receiver = positional[0]
    if isinstance(receiver, ModuleRef):
        state = ev.program.module(receiver.name)
        if state is not None and name in state.summary.binds:
            return TRUE
        ev.attribute(frame, receiver, name)
        return UNKNOWN
    if isinstance(receiver, (ClassRef, Instance)):
        cls = receiver if isinstance(receiver, ClassRef) else receiver.cls
        held = ev.member(cls, name)
        if held is not None and isinstance(held[1], ClassRef):
            if isinstance(receiver, Instance):
                ev.attribute(frame, receiver, name)  # a property runs
            return TRUE
        if isinstance(receiver, Instance) and name in receiver.attributes:
            return TRUE
        if held is None and ev.member(cls, "__getattr__") is None and not name.startswith("__"):
            return FALSE
    return UNKNOWN


def _setattr(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    if len(positional) == 3 and isinstance(positional[1], Const) and isinstance(positional[0], Instance):
        set_attribute(ev, frame, positional[0], str(positional[1].value), positional[2])
    return NONE


def _isinstance(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    if len(positional) != 2:
        return UNKNOWN
    value, kinds = positional
    wanted = list(kinds.items) if isinstance(kinds, Sequence) else [kinds]
    if isinstance(value, Instance) and not value.open:
        from coldfork.source.classes import linear

        order = linear(ev, value.cls)
        if any(kind in order for kind in wanted):
            return TRUE
        known = all(isinstance(kind, ClassRef) for kind in wanted) and all(isinstance(b, ClassRef) for b in order)
        return FALSE if known else UNKNOWN
    if isinstance(value, Const):
        names = {kind.name.removeprefix("builtins.") for kind in wanted if isinstance(kind, External)}
        own = {base.__name__ for base in type(value.value).__mro__}
        if names & own - {"object"}:
            return TRUE
        if all(isinstance(k, ClassRef) or (isinstance(k, External) and k.name.startswith("builtins.")) for k in wanted):
            return FALSE
    if isinstance(value, (Function, ClassRef)):
        names = {kind.name for kind in wanted if isinstance(kind, External)}
        if isinstance(value, Function) and names & {"types.FunctionType", "collections.abc.Callable", "typing.Callable"}:
            return TRUE
        if isinstance(value, ClassRef) and "builtins.type" in names:
            return TRUE
        if names <= {"builtins.str", "builtins.int", "builtins.list", "builtins.dict", "builtins.tuple"} and names:
            return FALSE
    return UNKNOWN


def _issubclass(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    from coldfork.source.classes import linear

    if len(positional) == 2 and isinstance(positional[0], ClassRef) and isinstance(positional[1], ClassRef):
        return Const(positional[1] in linear(ev, positional[0]))
    if len(positional) == 2 and isinstance(positional[0], ClassRef) and isinstance(positional[1], External):
        order = linear(ev, positional[0])
        if positional[1] in order:
            return TRUE
        if all(isinstance(base, ClassRef) for base in order) and isinstance(_builtin(positional[1]), type):
            return Const(positional[1].name == "builtins.object")
    return UNKNOWN


def _callable(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    if positional and isinstance(positional[0], (Function, ClassRef, Bound, Partial)):
        return TRUE
    if positional and isinstance(positional[0], External) and callable(_builtin(positional[0])):
        return TRUE
    return FALSE if positional and isinstance(positional[0], Const) else UNKNOWN


def _builtin(value: External) -> object:
    """The built-in object behind `builtins.x`."""
    return getattr(builtins, value.name.removeprefix("builtins."), None) if value.name.startswith("builtins.") else None


def _super(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    """`super()` in a method: behind the class that holds the method."""
    if len(positional) == 2 and isinstance(positional[0], ClassRef):
        return Super(positional[0], positional[1])
    function = frame.function
    env = frame.env
    while function is None and env is not None:
        env = env.outer
    if function is None or function.owner is None:
        return UNKNOWN
    code = ev.program.code_of(function)
    names = code[0][0] if code is not None else ()
    receiver = frame.env.names.get(names[0], UNKNOWN) if names and frame.env is not None else UNKNOWN
    return Super(function.owner, receiver)


def _type(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    if len(positional) == 1 and isinstance(positional[0], Instance):
        return positional[0].cls
    if len(positional) == 3 and isinstance(positional[1], Const | Sequence):
        bases, _ = iterate(ev, frame, positional[1])
        for base in bases:
            if isinstance(base, ClassRef):
                hook = ev.member(base, "__init_subclass__")
                if hook is not None and isinstance(hook[1], ClassRef):
                    function = hook[0].function if isinstance(hook[0], ClassMethod) else hook[0]
                    ev.call(frame, Bound(function, base))
                return base
    return UNKNOWN


def _map(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    """`map` is lazy: its function runs where the result is consumed."""
    return Lazy("generator", (External("builtins.map"), positional, {})) if len(positional) > 1 else UNKNOWN


def _consumed(kind: str) -> Model:
    def model(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
        if not positional:
            return Sequence(kind, ())
        items, exact = iterate(ev, frame, positional[0])
        if "key" in keywords:
            for single in items[:4]:
                ev.call(frame, keywords["key"], (single,))
        return Sequence(kind, items, exact)

    return model


def _chosen(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    """`max`, `min`, `next`, `sum`: one of the items, or something made of them."""
    if not positional:
        return UNKNOWN
    items, _ = iterate(ev, frame, positional[0]) if len(positional) == 1 else (positional, True)
    if "key" in keywords:
        for single in items[:4]:
            ev.call(frame, keywords["key"], (single,))
    return union(items) if items else UNKNOWN


def _next(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    if not positional:
        return UNKNOWN
    if isinstance(positional[0], Instance):
        return ev.call(frame, ev.attribute(frame, positional[0], "__next__"))
    ev.first_yield_only = isinstance(positional[0], Lazy)
    try:
        items, exact = iterate(ev, frame, positional[0])
    finally:
        ev.first_yield_only = False
    if items and exact:
        return items[0]
    return union([*items, *positional[1:]]) if items else UNKNOWN


def _any(wanted: bool) -> Model:
    def model(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
        items, exact = iterate(ev, frame, positional[0]) if positional else ((), True)
        outcomes = [test_of(item).nominal for item in items]
        if wanted in outcomes:
            return Const(wanted)
        return Const(not wanted) if exact and all(outcome is (not wanted) for outcome in outcomes) else UNKNOWN

    return model


def _dict(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    items: dict[Value, Value] = {}
    exact = None not in keywords
    if positional:
        if isinstance(positional[0], Mapping):
            items.update(positional[0].items)
            exact = exact and positional[0].exact
        else:
            pairs, whole = iterate(ev, frame, positional[0])
            exact = exact and whole
            for pair in pairs:
                parts, _ = iterate(ev, frame, pair)
                if len(parts) == 2:
                    items[parts[0]] = parts[1]
                else:
                    exact = False
    items.update({Const(name): value for name, value in keywords.items() if name is not None})
    return Mapping(items, exact)


def _zip(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    columns = [iterate(ev, frame, value) for value in positional]
    rows = [Sequence("tuple", row) for row in zip(*[items for items, _ in columns], strict=False)]
    return Sequence("list", tuple(rows), all(exact for _, exact in columns))


def _enumerate(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    items, exact = iterate(ev, frame, positional[0]) if positional else ((), True)
    return Sequence("list", tuple(Sequence("tuple", (Const(i), item)) for i, item in enumerate(items)), exact)


def _range(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    numbers = [value.value for value in positional if isinstance(value, Const) and isinstance(value.value, int)]
    if numbers and len(numbers) == len(positional) <= 3:
        try:
            made = range(*numbers)
        except ValueError:
            return UNKNOWN
        shown = made[:64]
        return Sequence("list", tuple(Const(n) for n in shown), len(shown) == len(made))
    return Sequence("list", (UNKNOWN,), exact=False)


def _filter(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    """`filter` is lazy too."""
    return Lazy("generator", (External("builtins.filter"), positional, {})) if len(positional) == 2 else UNKNOWN


def _chain(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    parts = [iterate(ev, frame, value) for value in positional]
    return Sequence("list", tuple(i for items, _ in parts for i in items), all(exact for _, exact in parts))


def _reduce(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    if len(positional) < 2:
        return UNKNOWN
    items, _ = iterate(ev, frame, positional[1])
    if items:
        return ev.call(frame, positional[0], (items[0], items[-1]))
    return UNKNOWN


def _len(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    value = positional[0] if positional else UNKNOWN
    if isinstance(value, (Sequence, Mapping)) and value.exact:
        return Const(len(value.items))
    if isinstance(value, Const) and isinstance(value.value, (str, bytes, tuple)):
        return Const(len(value.value))
    if isinstance(value, Instance):
        return ev.call(frame, ev.attribute(frame, value, "__len__"))
    return UNKNOWN


def _scalar(kind: type, method: str) -> Model:
    def model(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
        if not positional:
            return Const(kind())
        value = positional[0]
        if isinstance(value, Union):
            return ev.each(frame, value, lambda single: model(ev, frame, (single, *positional[1:]), keywords) or UNKNOWN)
        if isinstance(value, Const) and len(positional) == 1:
            try:
                return Const(kind(value.value))
            except (ValueError, TypeError):
                return UNKNOWN
        if isinstance(value, Instance):
            ev.call(frame, ev.attribute(frame, value, method))
        if kind is bool:
            outcome = test_of(value).nominal
            return UNKNOWN if outcome is None else Const(outcome)
        return UNKNOWN

    return model


def _run_coroutine(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    return awaited(ev, frame, positional[0]) if positional else UNKNOWN


def _globals(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    return External("builtins.globals()")


def _hash(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    if positional and isinstance(positional[0], Instance):
        ev.call(frame, ev.attribute(frame, positional[0], "__hash__"))
    return UNKNOWN


def _property(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    return Property(positional[0]) if positional else None


def _static(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    return StaticMethod(positional[0]) if positional else None


def _class_method(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    return ClassMethod(positional[0]) if positional else None


def _exit(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    raise Raised("other")


def _exec_known(ev: Evaluator, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    """Calls what it is given: `contextvars.Context.run`, `asyncio.to_thread` and their like."""
    return ev.call(frame, positional[0], positional[1:], keywords) if positional else None


BEFORE_ARGUMENTS: dict[str, Model] = {
    "typing.cast": _cast,
    "typing.overload": _first,
    "typing.final": _first,
    "typing.runtime_checkable": _first,
    "typing.no_type_check": _first,
    "typing_extensions.overload": _first,
    "typing_extensions.final": _first,
    "typing_extensions.override": _first,
    "typing_extensions.runtime_checkable": _first,
    "abc.abstractmethod": _first,
    "functools.cache": _first,
    "functools.lru_cache": _transparent,
    "functools.lru_cache()": _first,
    "functools.singledispatch": _first,
    "functools.total_ordering": _first,
    "functools.partial": _partial,
    "functools.partialmethod": _partial,
    "functools.wraps": _wraps,
    "functools.wraps()": _first,
    "functools.update_wrapper": _first,
    "functools.reduce": _reduce,
    "atexit.register": _first,
    "copy.copy": _first,
    "copy.deepcopy": _first,
    "importlib.import_module": _import_module,
    "builtins.__import__": _dunder_import,
    "importlib.util.find_spec": _find_spec,
    "importlib.metadata.version": _version,
    "importlib.metadata.entry_points": _entry_points,
    "importlib_metadata.entry_points": _entry_points,
    "importlib_metadata.version": _version,
    "importlib.reload": _first,
    "os.environ.get": _getenv,
    "os.getenv": _getenv,
    "os.environ.setdefault": _setenv,
    "os.putenv": _setenv,
    "builtins.getattr": _getattr,
    "builtins.hasattr": _hasattr,
    "builtins.setattr": _setattr,
    "builtins.isinstance": _isinstance,
    "builtins.issubclass": _issubclass,
    "builtins.callable": _callable,
    "builtins.super": _super,
    "builtins.type": _type,
    "builtins.property": _property,
    "builtins.staticmethod": _static,
    "builtins.classmethod": _class_method,
    "builtins.map": _map,
    "builtins.list": _consumed("list"),
    "builtins.tuple": _consumed("tuple"),
    "builtins.set": _consumed("set"),
    "builtins.frozenset": _consumed("set"),
    "builtins.sorted": _consumed("list"),
    "builtins.reversed": _consumed("list"),
    "builtins.iter": _consumed("list"),
    "collections.deque": _consumed("list"),
    "builtins.max": _chosen,
    "builtins.min": _chosen,
    "builtins.sum": _chosen,
    "builtins.next": _next,
    "builtins.any": _any(True),
    "builtins.all": _any(False),
    "builtins.dict": _dict,
    "collections.OrderedDict": _dict,
    "types.MappingProxyType": _dict,
    "builtins.zip": _zip,
    "builtins.enumerate": _enumerate,
    "builtins.range": _range,
    "builtins.filter": _filter,
    "itertools.chain": _chain,
    "builtins.len": _len,
    "builtins.str": _scalar(str, "__str__"),
    "builtins.int": _scalar(int, "__int__"),
    "builtins.bool": _scalar(bool, "__bool__"),
    "builtins.float": _scalar(float, "__float__"),
    "builtins.repr": _scalar(str, "__repr__"),
    "builtins.globals": _globals,
    "builtins.hash": _hash,
    "asyncio.run": _run_coroutine,
    "sys.exit": _exit,
    "builtins.exit": _exit,
    "contextvars.Context.run": _exec_known,
}
