"""Functions of Python and of torch of which more is known than that they are not ours."""

from __future__ import annotations

from collections.abc import Callable

from coldfork.source.capture.calls.recording import record_truth_test
from coldfork.source.capture.contents.attributes import holds_attribute
from coldfork.source.capture.contents.comparison import instance_of
from coldfork.source.capture.contents.containers import collected, reordered
from coldfork.source.capture.contents.copies import copied, deeply_copied
from coldfork.source.capture.contents.stores import store, take_away
from coldfork.source.capture.following import Following
from coldfork.source.capture.history import choices
from coldfork.source.capture.history.keys import numbered, token
from coldfork.source.capture.objects import ANY, REFERENT, Arguments, Object, Value
from coldfork.source.syntax.nodes import Node
from coldfork.source.values.kinds import ClassRef, Const, External

#: What is so wherever something is captured.
_ANSWERS: dict[str, Value] = {
    "torch.compiler.is_compiling": Const(False),
    "torch.jit.is_scripting": Const(False),
    "torch.jit.is_tracing": Const(False),
    "torch.cuda.is_available": Const(True),  # or there is nothing to capture
    "torch.get_device_module": External("torch.cuda"),
}
_CAPTURING_NOW = frozenset(
    {"torch.cuda.is_current_stream_capturing", "torch.cuda.graphs.is_current_stream_capturing"}
)
_READ_ON_HOST = frozenset({"print", "int", "float", "bool"})
#: Builtins that hand on what they were given.
_HANDING_ON = frozenset(
    {
        "iter",
        "list",
        "tuple",
        "sorted",
        "reversed",
        "set",
        "tqdm",
        "tqdm.tqdm",
        "tqdm.auto.tqdm",
        "torch.nn.ModuleList",
        "torch.nn.ModuleDict",
    }
)
_WEAK = frozenset({"weakref.ref", "weakref.proxy"})
#: What made an object that gives one thing after the other.
GENERATOR = "yield"
_ON_ATTRIBUTES = frozenset({"hasattr", "getattr", "setattr", "delattr"})
_COPYING = frozenset({"copy.copy", "copy.deepcopy", "dataclasses.replace", "copy.replace"})
#: Functions that make the same of the same.
_PURE = frozenset({"len", "id", "int", "str", "hash", "abs", "round", "min", "max", "repr"})
_REORDERING = frozenset({"sorted", "reversed", "set"})


def call(f: Following, node: Node, name: str, given: Arguments) -> Value | None:
    """What a function gives of which something is known; None for every other."""
    if name in _ANSWERS:
        return _ANSWERS[name]
    if name in _CAPTURING_NOW:
        return Const(f.run.region is not None)
    if name in _READ_ON_HOST and name != "bool" and given.positional:
        return _read(f, node, name, given)
    handler = _HANDLERS.get(name)
    known = handler(f, name, given) if handler is not None and given.values else None
    if known is None and name == "bool" and given.positional:
        return _read(f, node, name, given)
    if known is None and name == "dict" and not given.keywords:
        match given.positional:
            case [Object(kind="dict") as table]:
                return copied(table)
    if known is None and name == "dict" and not given.positional and not given.spread:
        return collected(f, "items", "dict", given.keywords, not given.options)
    return known if known is not None else _of_pure(f, name, given)


def _isinstance(f: Following, name: str, given: Arguments) -> Value | None:
    match given.positional:
        case [value, kind]:
            known = instance_of(f.names, value, kind)
            return Const(known) if known is not None else f.fresh(name)
    return None


def _len(f: Following, name: str, given: Arguments) -> Value | None:
    match given.positional:
        case [Object(kind=kind) as container] if kind or container.keys is not None:
            choices.note_contents(f, container)
            keys = container.keys if kind != "set" else None
            return f.fresh(name) if keys is None else Const(len(keys))
        case [value]:
            return numbered(f, name, name, token(f, value))
    return None


def _identity(f: Following, name: str, given: Arguments) -> Value | None:
    return numbered(f, name, name, *[token(f, one) for one in given.positional])


def _truth(f: Following, name: str, given: Arguments) -> Value | None:
    truth = f.truth(given.positional[0]) if given.positional else None
    return Const(truth) if truth is not None else None


def _type(f: Following, name: str, given: Arguments) -> Value | None:
    match given.positional:
        case [Object(cls=ClassRef() as cls)]:
            return cls
    return None


def _read(f: Following, node: Node, name: str, given: Arguments) -> Value:
    """What the host makes of a tensor, which it has to read."""
    _, _, expressions, *_ = node
    for value, expression in zip(given.positional, expressions, strict=False):
        record_truth_test(f, value, expression, f"{name} of ")
    return _number(f, name, given)


def _of_pure(f: Following, name: str, given: Arguments) -> Value | None:
    """What a function makes that makes the same of the same."""
    pure = name in _PURE or name.partition(".")[0] in ("math", "operator", "triton")
    if not pure or not given.values or given.spread or given.options:
        return None
    if any(type(one) is Object and (one.tensor is not None or one.kind) for one in given.values):
        return None
    return _number(f, name, given)


def _handed_on(f: Following, name: str, given: Arguments) -> Value | None:
    if not given.positional:
        return None
    first = given.positional[0]
    mixes = name in _REORDERING and type(first) is Object and first.keys is not None
    return reordered(first) if mixes and type(first) is Object else first


def _number(f: Following, name: str, given: Arguments) -> Value:
    """What a pure function makes, which depends on the batch as much as what it was given."""
    made = numbered(f, name, name, *[token(f, one) for one in given.values])
    made.data = max([one.data for one in given.values if type(one) is Object], default=made.data)
    return made


def _weakly(f: Following, name: str, given: Arguments) -> Value | None:
    referent = given.values[0]
    if name == "weakref.proxy":
        return referent
    made = f.fresh("reference", name)
    made.parts[REFERENT] = referent
    return made


def _of_attribute(f: Following, name: str, given: Arguments) -> Value | None:
    """`hasattr`, `getattr`, `setattr` and `delattr` of a name that is known."""
    match given.positional:
        case [Object() as owner, Const(value=str(attribute)), *others]:
            pass
        case _:
            return None
    if name == "setattr":
        for value in others:
            store(f, owner, attribute, value)
        return Const(None)
    if name == "delattr":
        take_away(f, owner, attribute)
        return Const(None)
    there = holds_attribute(f, owner, attribute)
    if there is None:
        return None
    choices.note(f, owner, attribute, owner.parts.get(attribute))
    if name == "hasattr":
        return Const(there)
    if there:
        f.run.touch(owner.parts[attribute])
        return owner.parts[attribute]
    return others[0] if others else None


def _copied(f: Following, name: str, given: Arguments) -> Value | None:
    owner = given.values[0]
    if type(owner) is not Object:
        return None
    made = deeply_copied(owner) if name.endswith("deepcopy") else copied(owner)
    for field, value in given.keywords.items():
        store(f, made, field, value)
    return made


def _partial(f: Following, name: str, given: Arguments) -> Value | None:
    if not given.positional or given.spread or given.options:
        return None
    made = f.fresh("partial", "functools.partial")
    made.parts |= {f"[{index}]": value for index, value in enumerate(given.positional)}
    made.parts |= {f"{name}=": value for name, value in given.keywords.items()}
    return made


def _next(f: Following, name: str, given: Arguments) -> Value | None:
    match given.positional:
        case [Object(made_by="yield") as generator, *_]:
            part = generator.part(ANY)
            f.run.touch(part)
            return part
    return None


_Handler = Callable[[Following, str, Arguments], Value | None]
_HANDLERS: dict[str, _Handler] = {
    "isinstance": _isinstance, "len": _len, "id": _identity, "bool": _truth, "type": _type, "next": _next,
    "functools.partial": _partial, "partial": _partial,
    **dict.fromkeys(_ON_ATTRIBUTES, _of_attribute), **dict.fromkeys(_COPYING, _copied),
    **dict.fromkeys(_WEAK, _weakly), **dict.fromkeys(_HANDING_ON, _handed_on),
}  # fmt: skip
