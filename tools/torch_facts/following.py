"""Finds torch's public functions and classes, and calls them on an imagined machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from coldfork.knowledge.known import Known
from coldfork.model.effects import PROFILES, EffectKind
from coldfork.source.evaluation.frame import Raised
from coldfork.source.evaluation.objects.names import module_value
from coldfork.source.files.finder import Finder, Located
from coldfork.source.files.site_packages import Distributions
from coldfork.source.program.program import Program
from coldfork.source.syntax.nodes import BY_DEF, NO_PARAMETERS, Parameters
from coldfork.source.values.kinds import (
    UNKNOWN,
    ClassMethod,
    ClassRef,
    Function,
    Instance,
    Keywords,
    Property,
    StaticMethod,
    Value,
)
from coldfork.source.values.unions import alternatives
from torch_facts.c_functions import c_functions
from torch_facts.evaluator import Reached, TorchEvaluator
from torch_facts.machine import INDEX, INSTALLED, SOMETHING, Machine
from torch_facts.sources import Sources

DEVICE_PARAMETERS = ("device", "device_index", "device_id")
_TARGET_VERSION = (3, 13)


@dataclass(frozen=True)
class Target:
    """A function, a class or a method of torch."""

    module: str
    is_class: bool
    methods: tuple[str, ...]
    """Of a class: entering it, and what it offers publicly."""
    parameters: tuple[tuple[str, bool], ...]
    """Each with whether it has to be given."""
    bound: int
    """How many of the parameters the attribute's owner fills."""


class Installation(Finder):
    """Torch's sources beside packages of which only their presence matters."""

    def find(self, module: str) -> Located | None:
        """Where a module is, or None."""
        if module.partition(".")[0] in INSTALLED:
            return Located(None, True, (), False, compiled=True)
        return super().find(module)


class Following:
    """The functions of one version of torch, on one machine."""

    def __init__(
        self, sources: Sources, machine: Machine, levels: Mapping[str, EffectKind], harmless: frozenset[str]
    ) -> None:
        catalogue = c_functions(levels, harmless, machine)
        self.program = Program(
            Installation((str(sources.root),), ()),
            sources.loader,
            Known("", lambda: catalogue),
            PROFILES["cuda"],
            _TARGET_VERSION,
            Distributions(()),
        )
        self.sources = sources
        self.evaluator = TorchEvaluator(self.program, machine)
        self.evaluator.waking_names = frozenset(
            name for name in self.names("torch.cuda") if isinstance(self._value("torch.cuda", name), Function)
        )

    def names(self, module: str) -> list[str]:
        """Return the names that a module's top level binds, star imports included."""
        state = self.program.module(module)
        if state is None:
            return []
        found = dict.fromkeys(state.summary.binds)
        for source, level, _guards in state.summary.stars:
            base = state.absolute(source, level)
            listed = self.sources.exported(base)
            found |= dict.fromkeys(listed or [name for name in self.names(base) if not name.startswith("_")])
        return list(found)

    def target(self, module: str, path: tuple[str, ...]) -> Target | None:
        """Return the target of a path, if it is a function or class of torch."""
        value = self._value(module, path[0])
        if not isinstance(value, (Function, ClassRef)) or not value.module.name.startswith("torch."):
            return None
        if len(path) == 2 and isinstance(value, ClassRef):
            method = self._method(value, path[1])
            return Target(value.module.name, False, (), _listed(self._parameters(method)), 1)
        if isinstance(value, Function):
            return Target(value.module.name, False, (), _listed(self._parameters(value)), 0)
        methods = tuple(
            name
            for name, ((how, *_), *_) in value.binds.items()
            if how == BY_DEF and (name == "__enter__" or not name.startswith("_"))
        )
        return Target(value.module.name, True, methods, _listed(self._of_constructor(value)), 0)

    def reach(self, module: str, path: tuple[str, ...], given: bool) -> Reached:
        """Call what a path leads to; `given` names a device wherever the signature takes one."""
        value = self._value(module, path[0])
        state = self.program.module(module)
        assert state is not None
        self.evaluator.journal.roll_back()
        receiver: tuple[Value, ...] = ()
        if len(path) == 2 and isinstance(value, ClassRef):
            # What the constructor wakes is another symbol's matter.
            value, receiver = _bound(self._method(value, path[1]), self._instance(value))
        parameters = self._of_constructor(value) if isinstance(value, ClassRef) else self._parameters(value)
        frame = self.evaluator.fresh_frame(state)
        return self.evaluator.reach(frame, value, *_arguments(parameters, receiver, given))

    def _value(self, module: str, name: str) -> Value:
        """Return the value of a module's name."""
        state = self.program.module(module)
        assert state is not None
        found = module_value(self.evaluator, state, name) or UNKNOWN
        options = [value for value, _ in alternatives(found) if isinstance(value, (Function, ClassRef))]
        return options[-1] if options else found

    def _method(self, cls: ClassRef, name: str) -> Value:
        held = self.evaluator.member(cls, name)
        return UNKNOWN if held is None or not isinstance(held.holder, ClassRef) else held.value

    def _instance(self, cls: ClassRef) -> Instance:
        """An object of a class; one without attributes where the class is not to be called like this."""
        frame = self.evaluator.fresh_frame(cls.module)
        try:
            made = self.evaluator.call(frame, cls, *_arguments(self._of_constructor(cls), (), given=True))
        except Raised:
            return Instance(cls)
        return made if isinstance(made, Instance) else Instance(cls)

    def _parameters(self, value: Value) -> Parameters:
        if isinstance(value, (StaticMethod, ClassMethod)):
            return self._parameters(value.function)
        if isinstance(value, Property):
            return self._parameters(value.getter)
        code = self.evaluator.definitions.code_of(value) if isinstance(value, Function) else None
        return code.parameters if code is not None else NO_PARAMETERS

    def _of_constructor(self, cls: ClassRef) -> Parameters:
        """The parameters of a class, without its `self`."""
        for name in ("__new__", "__init__"):
            method = self._method(cls, name)
            if isinstance(method, Function | StaticMethod):
                return _without_first(self._parameters(method))
        return NO_PARAMETERS


def _bound(method: Value, instance: Instance) -> tuple[Value, tuple[Value, ...]]:
    """A member of a class as it is called on an instance, with what fills its first parameter."""
    if isinstance(method, StaticMethod):
        return method.function, ()
    if isinstance(method, ClassMethod):
        return method.function, (instance.cls,)
    if isinstance(method, Property):
        return method.getter, (instance,)
    return method, (instance,) if isinstance(method, Function) else ()


def _without_first(parameters: Parameters) -> Parameters:
    return parameters._replace(
        positional=parameters.positional[1:], positional_only=max(0, parameters.positional_only - 1)
    )


def _listed(parameters: Parameters) -> tuple[tuple[str, bool], ...]:
    """The parameters of a function, each with whether it has to be given."""
    required = len(parameters.positional) - len(parameters.defaults)
    positional = [(name, index < required) for index, name in enumerate(parameters.positional)]
    return (*positional, *((name, False) for name in parameters.keyword_only))


def _arguments(
    parameters: Parameters, receiver: tuple[Value, ...], given: bool
) -> tuple[tuple[Value, ...], Keywords]:
    """Return arguments to call with: something for each required one, a device wherever one may be named."""
    positional, keywords = list(receiver), dict[str | None, Value]()
    for index, (name, required) in list(enumerate(_listed(parameters)))[len(receiver) :]:
        if name in DEVICE_PARAMETERS and (given or required):
            value: Value = INDEX
        elif required:
            value = SOMETHING
        else:
            continue
        if index < parameters.positional_only and index == len(positional):
            positional.append(value)
        else:
            keywords[name] = value
    return tuple(positional), keywords
