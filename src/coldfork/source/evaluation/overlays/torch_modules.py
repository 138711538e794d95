"""Modules of torch: whether one holds a tensor; moving one without a tensor touches no device."""

from __future__ import annotations

from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.objects.classes import external_bases
from coldfork.source.evaluation.objects.pytorch import CLASSES
from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import (
    Const,
    External,
    Function,
    Instance,
    Keywords,
    Mapping,
    Sequence,
    Union,
    Value,
    Values,
)
from coldfork.source.values.unions import alternatives

MODULE = "torch.nn.Module"
#: Stands for every class of modules that hold no tensor.
EMPTY = "torch.nn.Identity"
#: Stands for every class of modules that hold their arguments.
CONTAINER = "torch.nn.Sequential"
_MODULES = frozenset({MODULE, "torch.nn.modules.module.Module"})
#: Methods that register their second argument under the name in the first.
REGISTERING = frozenset({"register_buffer", "register_parameter", "register_module", "add_module"})
#: Methods that return the module itself, and touch no device.
CHAINED = frozenset(
    {"apply", "bfloat16", "double", "eval", "float", "half", "requires_grad_", "train", "type"}
)
#: Arguments that give a normalisation layer parameters or buffers.
_SWITCHES = frozenset({"affine", "track_running_stats"})
#: Bases that add no parameters and no buffers.
_PLAIN = ("abc.", "typing.", "builtins.object")


def made(ev: Interpreter, symbol: str, positional: Values, keywords: Keywords) -> Value | None:
    """Return the module that a container such as `torch.nn.Sequential` makes from its arguments;
    else None.
    """
    if ev.catalogue.returned(symbol) != CONTAINER:
        return None
    found = [_held(ev, value) for value in positional]
    for name, value in keywords.items():
        found.append(value == Const(True) if name in _SWITCHES else _held(ev, value))
    if any(one is True for one in found):
        return External(f"{MODULE}()")
    empty = External(f"{EMPTY}()")
    if all(one is False for one in found):
        return empty
    condition = Condition(words=f"the {symbol.rpartition('.')[2]} holds parameters or buffers")
    return Union(((External(f"{MODULE}()"), condition), (empty, None)))


def is_module(ev: Interpreter, instance: Instance) -> bool:
    """Return True for an object of a class derived from torch's modules."""
    return any(_kind(ev, base) in (MODULE, EMPTY, CONTAINER) for base in external_bases(ev, instance.cls))


def holds(ev: Interpreter, instance: Instance) -> bool | None:
    """Return whether a module or a module inside it has parameters or buffers; None if unknown."""
    bases = external_bases(ev, instance.cls)
    kinds = [_kind(ev, base) for base in bases]
    if any(base not in _MODULES and ev.catalogue.returned(base) == MODULE for base in bases):
        return True  # such as `torch.nn.Linear`, which has parameters
    found = [_attribute(ev, value) for value in instance.attributes.values()]
    if any(one is True for one in found):
        return True
    if instance.open or None in found or any(kind in (None, CONTAINER) for kind in kinds):
        return None
    return False


def _kind(ev: Interpreter, base: str) -> str | None:
    """Return which kind of torch module a base without source is; None if it is none."""
    if base in _MODULES:
        return MODULE
    if base.startswith(_PLAIN):
        return EMPTY
    return ev.catalogue.returned(base)


def _attribute(ev: Interpreter, value: Value) -> bool | None:
    """Return whether an attribute holds a tensor that moves with the module; not so in lists and
    dictionaries.
    """
    return False if isinstance(value, (Sequence, Mapping)) else _held(ev, value)


def _held(ev: Interpreter, value: Value) -> bool | None:
    """Return whether a value is, or holds, a tensor that moves with a module; None if unknown."""
    if isinstance(value, Union):
        found = {_held(ev, one) for one, _ in alternatives(value)}
        return found.pop() if len(found) == 1 else None
    if isinstance(value, (Const, Function)):
        return False
    if isinstance(value, External):
        return _external(ev, value.name)
    if isinstance(value, Instance):
        return (
            holds(ev, value) if is_module(ev, value) else False if not external_bases(ev, value.cls) else None
        )
    if isinstance(value, (Sequence, Mapping)):
        items = value.items if isinstance(value, Sequence) else tuple(value.items.values())
        found = {_held(ev, one) for one in items}
        if True in found and not value.doubtful:
            return True
        return False if found <= {False} and value.exact else None
    return None


def _external(ev: Interpreter, name: str) -> bool | None:
    """Return whether an object without source is, or holds, a tensor; None if unknown."""
    if not name.endswith("()"):
        return False if name.startswith(("torch.", "builtins.")) else None
    type_ = name[:-2]
    if type_ not in (MODULE, EMPTY) and type_ not in CLASSES:
        type_ = ev.catalogue.returned(type_) or ""
    if type_ == MODULE or type_ in CLASSES:
        return True
    return False if type_ == EMPTY else None
