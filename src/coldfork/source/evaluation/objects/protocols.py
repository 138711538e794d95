"""Runs deferred code: iterates values, enters context managers, awaits coroutines, reads annotations."""

from __future__ import annotations

from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.objects import pytorch
from coldfork.source.evaluation.objects.names import class_value
from coldfork.source.semantics.returning import comes_back
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import NO_PARAMETERS, Code, Node, code_of
from coldfork.source.values.kinds import (
    UNKNOWN,
    Bound,
    ClassRef,
    Const,
    External,
    Function,
    Instance,
    Keywords,
    Lazy,
    Mapping,
    Method,
    Sequence,
    Union,
    Unknown,
    Value,
    Values,
)
from coldfork.source.values.rarer_kinds import Work
from coldfork.source.values.unions import union

_LONGEST_UNROLLED = 64


def iterate(ev: Interpreter, frame: Frame, value: Value) -> tuple[Values, bool]:
    """Return the items of a value, and whether these are all of them; effects go to `frame`."""
    if isinstance(value, Sequence):
        return (
            (value.items, value.exact) if len(value.items) <= _LONGEST_UNROLLED else (value.items[:4], False)
        )
    if isinstance(value, Mapping):
        keys = tuple(value.items)
        return (keys, value.exact) if len(keys) <= _LONGEST_UNROLLED else (keys[:4], False)
    if isinstance(value, Const):
        if isinstance(value.value, (tuple, str)) and len(value.value) <= _LONGEST_UNROLLED:
            return tuple(Const(item) for item in value.value), True
        return (UNKNOWN,), False
    if isinstance(value, Lazy) and value.kind == "generator":
        return _run_generator(ev, frame, value)
    if isinstance(value, Union):
        return _iterate_union(ev, frame, value)
    if isinstance(value, (Instance, ClassRef)):
        return _iterate_object(ev, frame, value)
    if isinstance(value, Work):
        ev.call(frame, Method(value, "__iter__"))
    elif ev.unknown_code is not None and not (isinstance(value, External) and comes_back(value.name)):
        frame.doubt("the iteration ends")
    return (pytorch.TENSOR if pytorch.is_tensor(ev, value) else UNKNOWN,), False


def unpack(ev: Interpreter, frame: Frame, value: Value) -> tuple[Values, bool]:
    """Return the items of a value that must be a short sequence, as in `a, b = value`."""
    return ((value,), False) if isinstance(value, Unknown) else iterate(ev, frame, value)


def call_key(ev: Interpreter, frame: Frame, items: Values, keywords: Keywords) -> None:
    """Call the `key` function, if there is one, for a few of the items."""
    if "key" in keywords:
        for item in items[:4]:
            ev.call(frame, keywords["key"], (item,))


def _run_generator(ev: Interpreter, frame: Frame, value: Lazy) -> tuple[Values, bool]:
    function, positional, keywords = value.call
    yielded = ev.run_lazily(frame, function, positional, keywords)
    if isinstance(yielded, Sequence):
        # If the call that made the items was cached, it cost only one statement, so charge for the items.
        ev.budget.left -= len(yielded.items) // _LONGEST_UNROLLED
        return yielded.items, yielded.exact
    return (UNKNOWN,), False


def _iterate_union(ev: Interpreter, frame: Frame, value: Union) -> tuple[Values, bool]:
    found: list[Value] = []

    def one(single: Value) -> Value:
        items, _ = iterate(ev, frame, single)
        found.extend(items)
        return UNKNOWN

    ev.for_each_alternative(frame, value, one)
    return tuple(dict.fromkeys(found)), False


def _iterate_object(ev: Interpreter, frame: Frame, value: Instance | ClassRef) -> tuple[Values, bool]:
    """Return the items of an object whose `__iter__` has source; for a class, its metaclass's `__iter__`."""
    if ev.unknown_code is not None:
        frame.doubt("the iteration ends")
    iterator = ev.attribute(frame, value, "__iter__")
    if not isinstance(iterator, Bound):
        return (UNKNOWN,), False
    produced = ev.call(frame, iterator)
    if isinstance(produced, Instance):
        following = ev.attribute(frame, produced, "__next__")
        if isinstance(following, Bound):
            return (ev.call(frame, following),), False
        return (UNKNOWN,), False
    if produced is value:
        return (UNKNOWN,), False
    return iterate(ev, frame, produced)


def enter_context(ev: Interpreter, frame: Frame, value: Value) -> Value:
    """Return the value that `with value as ...` binds, running the code that enters and leaves the
    context.
    """
    if isinstance(value, Union):
        return ev.for_each_alternative(frame, value, lambda single: enter_context(ev, frame, single))
    if isinstance(value, Lazy) and value.kind == "context":
        function, positional, keywords = value.call
        yielded = ev.run_lazily(frame, function, positional, keywords)
        if isinstance(yielded, Sequence) and yielded.items:
            return union(yielded.items)
        return UNKNOWN
    if isinstance(value, Instance):
        for names in (("__enter__", "__exit__"), ("__aenter__", "__aexit__")):
            entering = ev.attribute(frame, value, names[0])
            if isinstance(entering, Bound):
                entered = _finished(ev, frame, ev.call(frame, entering))
                leaving = ev.attribute(frame, value, names[1])
                if isinstance(leaving, Bound):
                    _finished(ev, frame, ev.call(frame, leaving, (UNKNOWN, UNKNOWN, UNKNOWN)))
                return entered
        value = UNKNOWN
    if isinstance(value, External):
        return ev.call(frame, External(f"{value.name}.__enter__"))
    if ev.unknown_code is not None:
        frame.doubt("the context is entered")
    return value if isinstance(value, Work) else UNKNOWN


def _finished(ev: Interpreter, frame: Frame, value: Value) -> Value:
    """Return the result of a method called by `async with`, which awaits a coroutine."""
    return awaited(ev, frame, value) if isinstance(value, Lazy) and value.kind == "coroutine" else value


def awaited(ev: Interpreter, frame: Frame, value: Value) -> Value:
    """Return the value of `await value`, running the coroutine's body."""
    if isinstance(value, Lazy):
        function, positional, keywords = value.call
        return ev.run_lazily(frame, function, positional, keywords)
    if isinstance(value, Union):
        return ev.for_each_alternative(frame, value, lambda single: awaited(ev, frame, single))
    if ev.unknown_code is not None:
        frame.doubt("the waiting ends")
    return UNKNOWN


#: The function that Python generates to evaluate the annotations of a class or function.
ANNOTATE = "__annotate__"


def read_annotations(ev: Interpreter, frame: Frame, value: Value) -> None:
    """Evaluate the annotations of a class or function, which Python does when they are first read."""
    if isinstance(value, ClassRef):
        annotate = class_value(ev, value, ANNOTATE)
        if isinstance(annotate, Function):
            ev.call(frame, annotate)
        return
    function = value.function if isinstance(value, Bound) else value
    if isinstance(function, Function) and function.module.summary.deferred:
        code = ev.definitions.code_of(function)
        if code is not None:
            name = f"{function.name}.{ANNOTATE}"
            evaluated = _evaluated(ev, code, name)
            ev.call(frame, Function(function.module, code.line, name, evaluated, function.env))


def _evaluated(ev: Interpreter, code: Code, name: str) -> Code:
    every = [annotation for _, annotation in code.annotations]
    every += [code.returns] if code.returns is not None else []
    block = tuple([(nodes.EXPR, code.line, code.line, one) for one in every])
    node: Node = (NO_PARAMETERS, block, False, False, name, code.line, None, ())
    return ev.definitions.code_for(node, code_of)
