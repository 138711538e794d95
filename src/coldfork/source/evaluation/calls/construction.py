"""Constructs objects: metaclass `__call__`, `__new__`, `__init__`, and the generated code of dataclasses."""

from __future__ import annotations

from coldfork.knowledge.catalogue import Fact
from coldfork.source.evaluation.calls import known_effects
from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.objects.classes import external_bases, linear, metaclass
from coldfork.source.evaluation.objects.names import class_value
from coldfork.source.evaluation.overlays.stdlib import MODELS
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import called, last_name
from coldfork.source.values.kinds import (
    UNKNOWN,
    Bound,
    ClassRef,
    External,
    Function,
    Instance,
    Keywords,
    StaticMethod,
    Value,
    Values,
)

#: The functions of attrs that make a field without a type annotation.
_FIELDS = frozenset({"attrib", "ib"})


def construct(
    ev: Interpreter, frame: Frame, cls: ClassRef, positional: Values, keywords: Keywords, by_meta: bool = True
) -> Value:
    """Return the result of calling a class, which the catalogue may describe."""
    facts: tuple[Fact, ...] = ()
    if cls.module.name.partition(".")[0] in ev.known_libraries:
        symbol = known_effects.original_name(f"{cls.module.name}.{cls.qualified}")
        model = MODELS.get(symbol)
        modelled = None if model is None else model(ev, frame, positional, keywords)
        if modelled is not None:
            return modelled
        facts = known_effects.facts_of(ev, symbol, positional, keywords, computed=True)
        followed = cls.module.own and all(known_effects.is_all(fact) for fact in facts)
        if (facts and not followed) or ev.catalogue.is_harmless(symbol):
            known_effects.record_facts(ev, frame, facts)
            return External(f"{symbol}()")
    if not facts:
        return _made(ev, frame, cls, positional, keywords, by_meta)
    before, frame.must = frame.must, set()
    try:
        return _made(ev, frame, cls, positional, keywords, by_meta)
    finally:
        known_effects.record_unshown(ev, frame, facts, frame.must)
        frame.must |= before


def _made(
    ev: Interpreter, frame: Frame, cls: ClassRef, positional: Values, keywords: Keywords, by_meta: bool
) -> Value:
    """Return the object that a class with source makes of the arguments."""
    meta = metaclass(ev, cls) if by_meta else None
    if meta is not None:
        held = ev.member(meta, "__call__")
        if held is not None and isinstance(held.holder, ClassRef):
            callee = Bound(held.value, cls) if isinstance(held.value, Function) else held.value
            return ev.call(frame, callee, positional, keywords)
    made = Instance(cls)
    creator = ev.member(cls, "__new__")
    if creator is not None and isinstance(creator.holder, ClassRef):
        function = creator.value.function if isinstance(creator.value, StaticMethod) else creator.value
        result = ev.call(frame, function, (cls, *positional), keywords)
        if isinstance(result, Instance):
            made = result
        elif not isinstance(result, External) and result is not UNKNOWN:
            return result
    _initialise(ev, frame, made, positional, keywords)
    return made


def _initialise(
    ev: Interpreter, frame: Frame, made: Instance, positional: Values, keywords: Keywords
) -> None:
    cls = made.cls
    initialiser = ev.member(cls, "__init__")
    if initialiser is not None and isinstance(initialiser.holder, ClassRef):
        ev.call(frame, Bound(initialiser.value, made), positional, keywords)
        return
    if _is_generated(ev, cls):
        _fields(ev, frame, made, positional, keywords)
        return
    for base in external_bases(ev, cls):
        if known_effects.record_call(ev, frame, base, positional, keywords):
            return


def _is_generated(ev: Interpreter, cls: ClassRef) -> bool:
    """Return whether a class has a generated `__init__` that takes the values of its fields.

    Various decorators generate such an `__init__` for classes that have no bases.
    """
    bases = linear(ev, cls)
    own = [base for base in bases if isinstance(base, ClassRef)]
    if any(base.dataclass for base in own):
        return True
    if any(last_name(called(node)) == "dataclass" for node, _ in cls.statement.decorators):
        return True  # compared by name, because the decorator has not been run
    return len(own) == len(bases) and any(base.statement.decorators for base in own)


def _is_field(entries: tuple[nodes.Node, ...]) -> bool:
    """Return whether a class attribute is a field: annotated with a type, or made by a function of attrs."""
    for how, payload, _line, _guards in entries:
        if how == nodes.BY_TYPE:
            return True
        if how == nodes.BY_VALUE and payload[0] == nodes.CALL and last_name(called(payload)) in _FIELDS:
            return True
    return False


def _fields(ev: Interpreter, frame: Frame, made: Instance, positional: Values, keywords: Keywords) -> None:
    """Set the fields of a dataclass as its generated `__init__` does, then run `__post_init__`."""
    rest = list(positional)
    for base in reversed(linear(ev, made.cls)):
        if not isinstance(base, ClassRef):
            continue
        for name, entries in base.binds.items():
            if not _is_field(entries):
                continue
            if name in keywords:
                made.attributes[name] = keywords[name]
            elif rest:
                made.attributes[name] = rest.pop(0)
            else:
                _default(ev, frame, made, base, name, entries)
    after = ev.member(made.cls, "__post_init__") or ev.member(made.cls, "__attrs_post_init__")
    if after is not None and isinstance(after.holder, ClassRef):
        ev.call(frame, Bound(after.value, made))


def _default(
    ev: Interpreter, frame: Frame, made: Instance, base: ClassRef, name: str, entries: tuple[nodes.Node, ...]
) -> None:
    for how, payload, _line, _guards in entries:
        if how != nodes.BY_VALUE:
            continue
        if payload[0] == nodes.CALL:
            _, _, _, keywords, *_ = payload
            for keyword, node in keywords:
                if keyword in ("default_factory", "factory"):
                    factory = ev.quietly(base.module, base.env, node)
                    made.attributes[name] = ev.call(frame, factory)
                    return
                if keyword == "default":
                    made.attributes[name] = ev.quietly(base.module, base.env, node)
                    return
        value = class_value(ev, base, name)
        if value is not None:
            made.attributes[name] = value
