"""Follows torch's own functions as `check` follows an import, but for what the machine at hand settles."""

from __future__ import annotations

from dataclasses import dataclass

from coldfork.model.effects import WAKING, EffectKind
from coldfork.source.evaluation.evaluator import Evaluator
from coldfork.source.evaluation.frame import Frame, Raised
from coldfork.source.evaluation.objects.classes import external_bases
from coldfork.source.evaluation.objects.protocols import enter_context
from coldfork.source.program.module import Module
from coldfork.source.program.program import Program
from coldfork.source.values.kinds import (
    UNKNOWN,
    Const,
    Env,
    External,
    Function,
    Instance,
    Keywords,
    Lazy,
    Method,
    Super,
    Unknown,
    Value,
)
from torch_facts.c_functions import DEVICE, OF_UNKNOWN
from torch_facts.machine import Machine, settled

#: How deep each effect wakes a device.
LEVELS = {EffectKind.INITIALISES_DRIVER: 1, EffectKind.CREATES_CONTEXT: 2}


@dataclass(frozen=True)
class Reached:
    """How far a call wakes the device: on every way, on some way; and what it calls that nobody described."""

    certain: int
    possible: int
    opaque: frozenset[str]


class TorchEvaluator(Evaluator):
    """Calls functions of one version of torch on one machine."""

    def __init__(self, program: Program, machine: Machine) -> None:
        super().__init__(program)
        self.machine = machine
        self.known_libraries = frozenset()  # torch's own functions are followed, whatever is known of them
        self._answers = machine.answers
        self.waking_names: frozenset[str] = frozenset()
        """Names of functions that could wake a device if an unknown object turned out to be `torch.cuda`."""

    def call(
        self,
        frame: Frame,
        callee: Value,
        positional: tuple[Value, ...] = (),
        keywords: Keywords | None = None,
    ) -> Value:
        """Call a value; what the machine settles is answered."""
        if isinstance(callee, External):
            known = settled(self.machine, callee.name, positional)
            if known is not None:
                return Const(known)
            result = super().call(frame, callee, positional, keywords)
            return self._answers.get(callee.name, result)
        if isinstance(callee, Function):
            answer = self._answers.get(f"{callee.module.name}.{callee.qualified}")
            if answer is not None:
                return answer
        if isinstance(callee, Method) and isinstance(callee.receiver, (Instance, Super)):
            self._record_inherited(frame, callee.receiver, callee.name)
        return super().call(frame, callee, positional, keywords)

    def _record_inherited(self, frame: Frame, receiver: Instance | Super, name: str) -> None:
        """Record what a method does that comes from a base without source, which is a C class of torch's."""
        cls = receiver.cls if isinstance(receiver, Instance) else receiver.after
        for base in external_bases(self, cls):
            for fact in self.catalogue.call(f"{base}.{name}"):
                self.record_fact(frame, fact)

    def attribute(self, frame: Frame, value: Value, name: str) -> Value:
        """An attribute; of an unknown object, a name that tells what was called."""
        if isinstance(value, Unknown):
            return External(f"{OF_UNKNOWN}{name}") if name in self.waking_names else UNKNOWN
        return super().attribute(frame, value, name)

    def fresh_frame(self, module: Module) -> Frame:
        """A place to call from, on a machine where torch has just been imported; objects made before stay."""
        self.environment.begin(self.machine.environment)
        self.budget.begin(of_test=False)
        self.memo.begin()
        self.failing.clear()
        self.running.begin(module, Env())
        return Frame(module, Env())

    def reach(
        self, frame: Frame, callee: Value, positional: tuple[Value, ...], keywords: Keywords
    ) -> Reached:
        """Call a value from a fresh frame; a context manager is entered too."""
        try:
            result = self.call(frame, callee, positional, keywords)
            if isinstance(result, Lazy) and result.kind == "context":
                enter_context(self, frame, result)
        except Raised:
            pass
        levels = [LEVELS[wake.kind] for wake in frame.wakes.values() if wake.kind in WAKING]
        certain = 2 if f"{DEVICE}+" in frame.must else 1 if DEVICE in frame.must else 0
        opaque = frozenset(wake.accelerator for wake in frame.wakes.values() if wake.accelerator != DEVICE)
        return Reached(certain, max(levels, default=0), opaque)
