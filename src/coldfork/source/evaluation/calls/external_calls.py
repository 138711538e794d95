"""The effects and results of calling built-ins, the standard library and other code without source."""

from __future__ import annotations

from coldfork.knowledge.catalogue import Fact
from coldfork.source.evaluation.calls import known_effects
from coldfork.source.evaluation.calls.construction import construct
from coldfork.source.evaluation.flow.branches import FALLS, Branches
from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.objects import pytorch
from coldfork.source.evaluation.objects.attributes import known_value
from coldfork.source.evaluation.objects.classes import external_bases, linear
from coldfork.source.evaluation.objects.containers import container_method
from coldfork.source.evaluation.objects.exports import module_object
from coldfork.source.evaluation.objects.mutation import set_attribute
from coldfork.source.evaluation.overlays import processes, torch_modules
from coldfork.source.evaluation.overlays.stdlib import MODELS
from coldfork.source.syntax.nodes import PARSING
from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import (
    NONE,
    UNKNOWN,
    ClassRef,
    Const,
    External,
    Function,
    Instance,
    Keywords,
    Method,
    Super,
    Value,
    Values,
)

_LONGEST_NAME = 120
_ACCEPTED = Condition(words="the command line is one that the parser accepts")


def known_result(ev: Interpreter, symbol: str) -> Value:
    """Return the result of a library function: its value in the catalogue, or an object of which only the
    name is known.
    """
    known = ev.catalogue.values.get(f"{symbol}()")
    if known is not None:
        return known_value(known)
    return External(f"{symbol}()")


def call_external(ev: Interpreter, frame: Frame, name: str, positional: Values, keywords: Keywords) -> Value:
    """Call a function known only by its dotted name."""
    model = MODELS.get(name)
    if model is not None:
        result = model(ev, frame, positional, keywords)
        if result is not None:
            return result
    symbol = known_effects.original_name(name)
    if name.startswith("importlib.metadata.EntryPoint[") and name.endswith("].load"):
        return _load_entry_point(ev, frame, name[len("importlib.metadata.EntryPoint[") : -len("].load")])
    if name == pytorch.TENSOR.name:
        return pytorch.TENSOR  # a field of a named tuple of tensors may be named like a method of a tensor
    if "()" in name:
        return _external_method(ev, frame, symbol, positional, keywords)
    if not name.startswith("builtins."):
        known_effects.record_call(ev, frame, symbol, positional, keywords)
        waiting = known_effects.made(ev, symbol, positional, keywords)
        if waiting is not None:
            return waiting
    if len(name) > _LONGEST_NAME:
        return UNKNOWN
    if name == "builtins.type.__call__" and positional and isinstance(positional[0], ClassRef):
        return construct(ev, frame, positional[0], positional[1:], keywords, by_meta=False)
    device = pytorch.called_for_device(ev, frame, symbol, positional, keywords)
    if device is not None:
        return device
    made = torch_modules.made(ev, symbol, positional, keywords)
    if made is None and ev.catalogue.returned(symbol) is None:
        made = pytorch.returned_tensor(symbol)
    return made or known_result(ev, symbol)


def _load_entry_point(ev: Interpreter, frame: Frame, target: str) -> Value:
    """Return the result of `EntryPoint.load`: the module is imported, and the attribute is taken from it."""
    module, _, attribute = target.partition("[")[0].strip().partition(":")
    ev.record_import(frame, module)
    value: Value = module_object(ev, module)
    for part in attribute.split("."):
        if part:
            value = ev.attribute(frame, value, part)
    return value


def _external_method(
    ev: Interpreter, frame: Frame, name: str, positional: Values, keywords: Keywords
) -> Value:
    """Return the result of a method called on the result of an external call."""
    made, _, method = name.rpartition("().")
    if method in PARSING and not positional and not keywords:
        frame.stay((_ACCEPTED,))
    if made and "." not in method:
        returned = ev.catalogue.returned(made)
        receivers = [made] if returned is None else [returned, made]
        if method and known_effects.record_method_call(ev, frame, receivers, method, positional, keywords):
            return External(f"{receivers[0]}()") if len(name) < _LONGEST_NAME else UNKNOWN
        if method in torch_modules.CHAINED and torch_modules.MODULE in receivers:
            return External(f"{torch_modules.MODULE}()")
        tensor = pytorch.tensor_of_method(receivers, method)
        if tensor is not None:
            return tensor
    if name.removesuffix("()") in ev.catalogue.waiting:  # the last argument belongs to the call of the result
        known_effects.record_call(ev, frame, name, positional[:-1], keywords)
    elif name in ev.catalogue.calls:
        known_effects.record_call(ev, frame, name, positional, keywords)
    elif not name.endswith("()"):  # calling the result of a call does not repeat the first call
        known_effects.record_call(ev, frame, name.replace("()", ""), positional, keywords)
    return External(f"{name}()") if len(name) < _LONGEST_NAME else UNKNOWN


def _module_method(
    ev: Interpreter, frame: Frame, module: Instance, name: str, positional: Values, keywords: Keywords
) -> Value:
    """Call a method of one of torch's modules: moving the module touches a device only if it holds a
    tensor.
    """
    if name in torch_modules.REGISTERING:
        given = dict(zip(("name", "held"), positional, strict=False))
        held = given.get("held") or next((value for key, value in keywords.items() if key != "name"), None)
        if held is not None:
            key = given.get("name", keywords.get("name"))
            set_attribute(ev, frame, module, str(key.value) if isinstance(key, Const) else "?", held)
        return module
    if name in torch_modules.CHAINED:
        return module
    if not any(torch_modules.MODULE in entry.receivers for entry in ev.catalogue.methods.get(name, ())):
        return UNKNOWN
    held_anything = torch_modules.holds(ev, module)
    if held_anything is False:
        return module

    def moved() -> int:
        known_effects.record_method_call(ev, frame, [torch_modules.MODULE], name, positional, keywords)
        return FALLS

    if held_anything:
        moved()
        return module
    branches = Branches(ev, frame)
    branches.follow(moved, Condition(words=f"the {module.cls.name} holds parameters or buffers"), False)
    branches.follow(lambda: FALLS, None, True)
    branches.join()
    return module


def call_method(
    ev: Interpreter, frame: Frame, method: Method, positional: Values, keywords: Keywords
) -> Value:
    """Call a method of a built-in value, or of an object with a base class whose source is not at hand."""
    receiver = method.receiver
    if isinstance(receiver, (Instance, Super)):
        return _base_method(ev, frame, receiver, method.name, positional, keywords)
    started = processes.call_method(ev, frame, method, positional, keywords)
    if started is not None:
        return started
    return container_method(ev, frame, receiver, method.name, positional, keywords)


def _base_method(
    ev: Interpreter,
    frame: Frame,
    receiver: Instance | Super,
    name: str,
    positional: Values,
    keywords: Keywords,
) -> Value:
    """Call a method that an object inherits from a base class without source."""
    if name in PARSING and not positional and not keywords:
        frame.stay((_ACCEPTED,))
    bases = external_bases(ev, receiver.cls if isinstance(receiver, Instance) else receiver.after)
    if isinstance(receiver, Instance):
        if name == "start" and processes.start_instance(ev, frame, receiver, linear(ev, receiver.cls)):
            return NONE
        if torch_modules.is_module(ev, receiver):
            return _module_method(ev, frame, receiver, name, positional, keywords)
    if known_effects.record_method_call(ev, frame, bases, name, positional, keywords):
        return receiver
    tensor = pytorch.tensor_of_method(bases, name)
    if tensor is not None:
        return tensor
    return _super_method(ev, frame, receiver, name, bases, positional, keywords)


def _super_method(
    ev: Interpreter,
    frame: Frame,
    receiver: Instance | Super,
    name: str,
    bases: list[str],
    positional: Values,
    keywords: Keywords,
) -> Value:
    """Call a special method of a base through `super()`."""
    if not isinstance(receiver, Super):
        return UNKNOWN
    if name == "__init__":
        for base in bases:
            if (model := MODELS.get(f"{base}.__init__")) is not None:
                model(ev, frame, positional, keywords)
            known_effects.record_call(ev, frame, base, positional, keywords)
    if name == "__new__" and positional and isinstance(positional[0], ClassRef):
        return Instance(positional[0])
    if name == "__setattr__" and len(positional) == 2:
        if isinstance(receiver.receiver, Instance) and isinstance(positional[0], Const):
            set_attribute(ev, frame, receiver.receiver, str(positional[0].value), positional[1])
    if name == "__call__" and isinstance(receiver.receiver, ClassRef):
        return construct(ev, frame, receiver.receiver, positional, keywords, by_meta=False)
    return UNKNOWN


def answer(
    ev: Interpreter, frame: Frame, function: Function, symbol: str, facts: tuple[Fact, ...]
) -> Value | None:
    """Return the result of a function if the catalogue describes it; None if its source must be followed.

    Checked code is always followed: findings must not depend on the name of a module.
    """
    if (
        f"{symbol}()" in ev.catalogue.values
        or (symbol.startswith("torch.") and ev.catalogue.call(symbol))
        or ev.catalogue.is_harmless(symbol)
        or (not function.module.own and any(known_effects.is_all(fact) for fact in facts))
    ):
        known_effects.record_facts(ev, frame, facts)
        return known_result(ev, symbol)
    return None
