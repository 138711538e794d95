"""The interface between the parts of the evaluator: the state that they share, and each other's functions.

Following code is recursive: an expression calls a function, whose statements contain expressions. Each part
knows only this class; `evaluator.Evaluator` puts them together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol

from coldfork.knowledge.catalogue import Catalogue, Fact
from coldfork.model.errors import ColdforkError
from coldfork.model.observations import describe
from coldfork.source.evaluation.budget import Budget
from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.journal import Journal
from coldfork.source.evaluation.memo import Memo, UnproductiveCalls, UnreadTexts
from coldfork.source.evaluation.running import Definitions, EnvironmentVariables, RunningModule
from coldfork.source.evaluation.trace import Failure
from coldfork.source.program.module import Module
from coldfork.source.program.program import Program
from coldfork.source.semantics.classes import Member
from coldfork.source.syntax.nodes import Block, Node
from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import ClassRef, Env, Keywords, Union, Value, Values


class Disturbing(Protocol):
    """Records which values may be changed by code that cannot be followed."""

    calls: int

    def called(self, callee: Value, positional: Values, keywords: Keywords) -> None:
        """Record a call."""

    def met(self, *given: Value) -> None:
        """Record that unknown code is given these values, and may run now."""

    def hand(self, *given: Value) -> None:
        """Record that unknown code gets these values."""


class Interpreter(ABC):
    """One analysis in progress: the interface through which the parts of the evaluator use it."""

    program: Program
    catalogue: Catalogue
    known_libraries: frozenset[str]
    """Top-level names of the packages that the catalogue covers."""
    definitions: Definitions
    memo: Memo
    budget: Budget
    journal: Journal
    unproductive_calls: UnproductiveCalls
    unread_texts: UnreadTexts
    environment: EnvironmentVariables
    running: RunningModule
    failing: list[dict[tuple[str, bool], Failure]]
    """For every `try` and call being followed, innermost last, the first failure of each kind."""
    joining: int
    """How many of the paths being followed have a sibling path that was followed earlier."""
    presumes: bool
    """Whether to presume whatever nearly always holds; otherwise every path counts as equally likely."""
    unknown_code: Disturbing | None
    """Records which values unknown code may change; None if unknown code is presumed to change none."""
    first_yield_only: bool
    """Set for the generator that `next` is about to run."""

    # -- running code -------------------------------------------------------------------------------

    @abstractmethod
    def evaluate(self, frame: Frame, node: Node) -> Value:
        """Return the value of an expression, recording the effects in `frame`."""

    @abstractmethod
    def execute(self, frame: Frame, block: Block) -> int:
        """Run a block; return how it ended: one of the constants in `flow.branches`."""

    @abstractmethod
    def quietly(self, module: Module, env: Env | None, node: Node, before: int = 0) -> Value:
        """Return the value of an expression without recording its effects, which are reported elsewhere.

        With `before`, names have the values that they have before that line of the module runs.
        """

    @abstractmethod
    def call(
        self, frame: Frame, callee: Value, positional: Values = (), keywords: Keywords | None = None
    ) -> Value:
        """Call a value, recording the effects in `frame`."""

    @abstractmethod
    def run_lazily(self, frame: Frame, function: Value, positional: Values, keywords: Keywords) -> Value:
        """Run the body of a generator, coroutine or context manager."""

    @abstractmethod
    def is_strange(self, symbol: str) -> bool:
        """Return whether a name belongs to a library that has neither source nor facts in the catalogue."""

    @abstractmethod
    def operate(self, frame: Frame, operator: str, left: Value, right: Value) -> Value:
        """Return the value of an operator, in place for an assignment such as `+=`."""

    @abstractmethod
    def compare(self, frame: Frame, name: str, left: Value, right: Value) -> Value:
        """Return the result of comparing two values."""

    @abstractmethod
    def for_each_alternative(self, frame: Frame, value: Union, work: Callable[[Value], Value]) -> Value:
        """Do `work` for every alternative of a value, and return the joined results."""

    @abstractmethod
    def define_class(self, frame: Frame, node: Node) -> int:
        """Run a class statement."""

    @abstractmethod
    def decorated(
        self, module: Module, env: Env | None, value: Value, nodes: tuple[tuple[Node, int], ...]
    ) -> Value:
        """Return a function or class with its decorators applied; their effects are recorded where the
        statement runs.
        """

    @abstractmethod
    def evaluate_decorators(
        self, frame: Frame, nodes: tuple[tuple[Node, int], ...], symbol: str
    ) -> tuple[tuple[Value, int], ...]:
        """Evaluate the decorators of a function or class, and return their values."""

    @abstractmethod
    def apply_decorators(
        self, frame: Frame, value: Value, decorators: tuple[tuple[Value, int], ...], symbol: str
    ) -> Value:
        """Apply decorators, the last one first."""

    # -- names and attributes -----------------------------------------------------------------------

    @abstractmethod
    def global_value(self, frame: Frame, name: str) -> Value:
        """Return the current value of a module variable."""

    @abstractmethod
    def attribute(self, frame: Frame, value: Value, name: str) -> Value:
        """Return `value.name`, running any code that this involves."""

    @abstractmethod
    def read_lazily(self, frame: Frame, value: Value) -> Value:
        """Return the value of a lazily imported name; reading the name runs the import."""

    @abstractmethod
    def module_attribute(self, frame: Frame, state: Module, name: str) -> Value:
        """Return an attribute of a module that no statement of its body binds."""

    @abstractmethod
    def imported(self, target: str, name: str) -> Value:
        """Return the value that `from target import name` binds."""

    @abstractmethod
    def external(self, dotted: str) -> Value:
        """Return the value of a dotted name without source: from the catalogue if known there."""

    @abstractmethod
    def item(self, frame: Frame, container: Value, key: Value) -> Value:
        """Return `container[key]`."""

    @abstractmethod
    def member(self, cls: ClassRef, name: str, after: ClassRef | None = None) -> Member[Value, Value] | None:
        """Return an attribute of a class, searching the class and its bases."""

    @abstractmethod
    def instance_of(self, module: Module, env: Env | None, node: Node) -> Value:
        """Return an object of the class that an annotation names."""

    @abstractmethod
    def guards_hold(
        self, module: Module, env: Env | None, guards: tuple[Node, ...]
    ) -> tuple[bool | None, Condition | None]:
        """Return whether a binding under these guards happens."""

    # -- recording -----------------------------------------------------------------------------------

    @abstractmethod
    def record_fact(self, frame: Frame, fact: Fact) -> None:
        """Record a fact of the catalogue at the current line."""

    @abstractmethod
    def record_import(self, frame: Frame, target: str) -> None:
        """Record that the current code imports a module."""

    @abstractmethod
    def record_failure(self, failure: Failure) -> None:
        """Record that the current code may fail. Failures of one kind are joined into one, which keeps only
        what is certain in all.
        """

    @abstractmethod
    def record_missing_name(self, frame: Frame, state: Module, name: str) -> None:
        """Record that a package lacks a name that is imported from it; the name is presumably a compiled
        module.
        """


#: Follows a call of a modelled function, and returns the result; None if the model does not apply.
Model = Callable[[Interpreter, Frame, Values, Keywords], Value | None]


#: Errors after which a module cannot be followed further: a refusal, or a recursion or memory limit.
_ENDING = (ColdforkError, RecursionError, MemoryError)


def cut_short(ev: Interpreter, frame: Frame, line: int) -> None:
    """Record that the budget ran out at a line; results that depend on this line are not cached."""
    ev.memo.need_unfinished(0)
    ev.budget.end_at(frame.module.name, frame.symbol, line)


def fail_at(ev: Interpreter, module: str, symbol: str, line: int, fault: str) -> None:
    """Record that coldfork itself failed at a line; results that depend on this line are not cached."""
    ev.memo.need_unfinished(0)
    ev.budget.fail_at(module, symbol, line, fault)


def contain(ev: Interpreter, frame: Frame, problem: Exception, line: int = 0) -> None:
    """Record an exception as a fault in coldfork itself; only the code being followed is lost."""
    if isinstance(problem, _ENDING):
        raise problem
    fail_at(ev, frame.module.name, frame.symbol, max(frame.line, frame.before, line, 1), describe(problem))
