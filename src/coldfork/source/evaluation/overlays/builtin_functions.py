"""Models of built-in functions: attributes, classes, conversions."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from types import FunctionType

from coldfork.source.evaluation.flow.truth_tests import test_of, tested
from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter, Model
from coldfork.source.evaluation.objects.assignment import assign_attribute
from coldfork.source.evaluation.objects.classes import hook_of, linear
from coldfork.source.evaluation.objects.mutation import set_attribute
from coldfork.source.evaluation.objects.names import module_value
from coldfork.source.evaluation.objects.protocols import iterate
from coldfork.source.semantics.classes import CONTAINERS, any_of, belongs
from coldfork.source.values.kinds import (
    FALSE,
    NONE,
    TRUE,
    UNKNOWN,
    Bound,
    ClassMethod,
    ClassRef,
    Const,
    External,
    Function,
    Instance,
    Keywords,
    Mapping,
    ModuleRef,
    Partial,
    Property,
    Sequence,
    StaticMethod,
    Super,
    Union,
    Value,
    Values,
)
from coldfork.source.values.rarer_kinds import Wrapped
from coldfork.source.values.texts import PartialText, joined_text
from coldfork.source.values.unions import alternatives, union


def _getattr(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    if len(positional) < 2:
        return UNKNOWN
    names = [name for name, _ in alternatives(positional[1])]
    if all(isinstance(name, Const) for name in names):
        return union(
            [ev.attribute(frame, positional[0], str(name.value)) for name in names if isinstance(name, Const)]
        )
    return UNKNOWN


def _hasattr(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    if len(positional) != 2 or not isinstance(positional[1], Const):
        return UNKNOWN
    name = str(positional[1].value)
    receiver = positional[0]
    if isinstance(receiver, ModuleRef):
        state = ev.program.module(receiver.name)
        if state is not None and module_value(ev, state, name) is not None:
            if name in state.lazy:
                ev.attribute(frame, receiver, name)
            return TRUE
        ev.attribute(frame, receiver, name)
        return UNKNOWN
    if isinstance(receiver, (ClassRef, Instance)):
        cls = receiver if isinstance(receiver, ClassRef) else receiver.cls
        held = ev.member(cls, name)
        if held is not None and isinstance(held.holder, ClassRef):
            if isinstance(receiver, Instance):
                ev.attribute(frame, receiver, name)  # reading the attribute may run a property
            return TRUE
        if isinstance(receiver, Instance) and name in receiver.attributes:
            return TRUE
        if held is None and ev.member(cls, "__getattr__") is None and not name.startswith("__"):
            return FALSE
    return UNKNOWN


def _setattr(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    if len(positional) == 3 and isinstance(positional[1], Const):
        assign_attribute(ev, frame, positional[0], str(positional[1].value), positional[2])
    return NONE


def _set_past(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    """Model `object.__setattr__`, which sets the attribute without calling the class's own `__setattr__`."""
    if len(positional) == 3 and isinstance(positional[0], Instance) and isinstance(positional[1], Const):
        set_attribute(ev, frame, positional[0], str(positional[1].value), positional[2])
    return NONE


def _new_object(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    return Instance(positional[0]) if positional and isinstance(positional[0], ClassRef) else None


def _vars(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    return ev.attribute(frame, positional[0], "__dict__") if len(positional) == 1 else UNKNOWN


def _isinstance(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    if len(positional) != 2:
        return UNKNOWN
    value, kinds = positional
    outcome = any_of([_belongs(ev, value, kind) for kind in _flattened(kinds)])
    return UNKNOWN if outcome is None else Const(outcome)


def _flattened(kinds: Value) -> list[Value]:
    """Return the classes in the second argument of `isinstance`: one class, or tuples that may be nested."""
    found: list[Value] = []
    waiting, seen = [kinds], set[int]()
    while waiting:
        one = waiting.pop()
        if not isinstance(one, Sequence):
            found.append(one)
        elif id(one) not in seen:
            seen.add(id(one))
            waiting.extend(reversed(one.items))
            if not one.exact:
                found.append(UNKNOWN)
    return found


def _belongs(ev: Interpreter, value: Value, kind: Value) -> bool | None:
    """Return whether a value is an object of one class; None if unknown."""
    if isinstance(value, Instance):
        order = () if value.open else linear(ev, value.cls)
        if kind in order:
            return True
        known = isinstance(kind, ClassRef) or _is_builtin_class(kind)
        return False if order and known and all(isinstance(base, ClassRef) for base in order) else None
    own = _class_of(value)
    if own is None:
        return None
    if isinstance(kind, ClassRef):
        return None if own is type else False
    return belongs(own, kind.name) if isinstance(kind, External) else None


def _class_of(value: Value) -> type | None:
    """Return the class of a value that Python itself makes, such as a text or a list."""
    match value:
        case Const():
            return type(value.value)
        case Sequence():
            return CONTAINERS.get(value.kind)
        case Mapping():
            return dict
        case PartialText(is_path=False):
            return str
        case Function():
            return FunctionType
    return type if isinstance(value, ClassRef) else None


def _is_builtin_class(value: Value) -> bool:
    """Return True for a built-in class other than `object`: only objects of such a class and its subclasses
    belong to it.
    """
    known = _builtin(value) if isinstance(value, External) else None
    return isinstance(known, type) and known is not object


def _issubclass(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    if len(positional) == 2 and isinstance(positional[0], ClassRef) and isinstance(positional[1], ClassRef):
        return Const(positional[1] in linear(ev, positional[0]))
    if len(positional) == 2 and isinstance(positional[0], ClassRef) and isinstance(positional[1], External):
        order = linear(ev, positional[0])
        if positional[1] in order:
            return TRUE
        if all(isinstance(base, ClassRef) for base in order) and isinstance(_builtin(positional[1]), type):
            return Const(positional[1].name == "builtins.object")
    return UNKNOWN


def _callable(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    if positional and isinstance(positional[0], (Function, ClassRef, Bound, Partial, Wrapped)):
        return TRUE
    if positional and isinstance(positional[0], External) and callable(_builtin(positional[0])):
        return TRUE
    return FALSE if positional and isinstance(positional[0], Const) else UNKNOWN


def _builtin(value: External) -> object:
    """Return the built-in object named by `builtins.x`."""
    name = value.name.removeprefix("builtins.")
    return getattr(builtins, name, None) if name != value.name else None


def _super(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    """Model `super()` in a method: attributes are looked up in the classes after the one with the method."""
    if len(positional) == 2 and isinstance(positional[0], ClassRef):
        return Super(positional[0], positional[1])
    function = frame.function
    if function is None or function.owner is None:
        return UNKNOWN
    code = ev.definitions.code_of(function)
    names = code.parameters.positional if code is not None else ()
    receiver = frame.env.names.get(names[0], UNKNOWN) if names and frame.env is not None else UNKNOWN
    return Super(function.owner, receiver)


def _type(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    if len(positional) == 1 and isinstance(positional[0], Instance):
        return positional[0].cls
    if len(positional) == 3 and ev.presumes and isinstance(positional[1], Const | Sequence):
        bases, _ = iterate(ev, frame, positional[1])
        for base in bases:
            if isinstance(base, ClassRef):
                hook = ev.member(base, "__init_subclass__")
                if hook is not None and isinstance(hook.holder, ClassRef):
                    function = hook_of(hook.value)
                    ev.call(frame, Bound(function, base))
                return base
    return UNKNOWN


def _len(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    value = positional[0] if positional else UNKNOWN
    if isinstance(value, (Sequence, Mapping)) and value.exact:
        return Const(len(value.items))
    if isinstance(value, Const) and isinstance(value.value, (str, bytes, tuple)):
        return Const(len(value.value))
    if isinstance(value, Instance):
        return ev.call(frame, ev.attribute(frame, value, "__len__"))
    return UNKNOWN


def _scalar(kind: Callable[..., object], method: str) -> Model:
    def model(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
        if not positional:
            return UNKNOWN if kind is repr else Const(kind())
        value = positional[0]
        if isinstance(value, Union):
            return ev.for_each_alternative(
                frame, value, lambda single: model(ev, frame, (single, *positional[1:]), keywords) or UNKNOWN
            )
        if isinstance(value, Const) and len(positional) == 1:
            try:
                return Const(kind(value.value))
            except (ValueError, TypeError, OverflowError):
                return UNKNOWN
        if kind is str and isinstance(value, (PartialText, External)):
            return joined_text((value,))
        if kind is bool:
            outcome = test_of(tested(ev, frame, value)).nominal
            return UNKNOWN if outcome is None else Const(outcome)
        if isinstance(value, Instance):
            ev.call(frame, ev.attribute(frame, value, method))
        return UNKNOWN

    return model


def _hash(ev: Interpreter, frame: Frame, positional: Values, keywords: Keywords) -> Value | None:
    if positional and isinstance(positional[0], Instance):
        ev.call(frame, ev.attribute(frame, positional[0], "__hash__"))
    return UNKNOWN


BUILTINS: dict[str, Model] = {
    "builtins.getattr": _getattr,
    "builtins.hasattr": _hasattr,
    "builtins.setattr": _setattr,
    "builtins.object.__setattr__": _set_past,
    "builtins.object.__new__": _new_object,
    "builtins.vars": _vars,
    "builtins.isinstance": _isinstance,
    "builtins.issubclass": _issubclass,
    "builtins.callable": _callable,
    "builtins.super": _super,
    "builtins.type": _type,
    "builtins.property": lambda ev, frame, given, named: Property(*given[:3]) if given else None,
    "builtins.staticmethod": lambda ev, frame, given, named: StaticMethod(given[0]) if given else None,
    "builtins.classmethod": lambda ev, frame, given, named: ClassMethod(given[0]) if given else None,
    "builtins.len": _len,
    "builtins.str": _scalar(str, "__str__"),
    "builtins.int": _scalar(int, "__int__"),
    "builtins.bool": _scalar(bool, "__bool__"),
    "builtins.float": _scalar(float, "__float__"),
    "builtins.repr": _scalar(repr, "__repr__"),
    "builtins.globals": lambda ev, frame, given, named: External("builtins.globals()"),
    "builtins.hash": _hash,
}
