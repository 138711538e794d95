"""The interface between the parts of the evaluator: their shared state, and the work of the other parts.

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
    """Tracks what code that cannot be followed may change."""

    calls: int

    def called(self, callee: Value, positional: Values, keywords: Keywords) -> None:
        """Note a call."""

    def met(self, *given: Value) -> None:
        """Note that code that cannot be followed is given these values, and may run now."""

    def hand(self, *given: Value) -> None:
        """Note that code that cannot be followed gets hold of these values."""


class Interpreter(ABC):
    """One analysis in progress, as its parts see it."""

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
    """How many of the paths being followed have a sibling that was followed before."""
    presumes: bool
    """Whether to take for granted what nearly always holds; otherwise every path is equally likely."""
    unknown_code: Disturbing | None
    """Tracks what code that cannot be followed may change; None if it is taken to change nothing."""
    first_yield_only: bool
    """Set for the generator that `next` is about to run."""

    # -- running code -------------------------------------------------------------------------------

    @abstractmethod
    def evaluate(self, frame: Frame, node: Node) -> Value:
        """Return the value of an expression; its effects go to `frame`."""

    @abstractmethod
    def execute(self, frame: Frame, block: Block) -> int:
        """Run a block; return how it ended, as one of the codes in `flow.branches`."""

    @abstractmethod
    def quietly(self, module: Module, env: Env | None, node: Node, before: int = 0) -> Value:
        """Return the value of an expression whose effects are reported elsewhere.

        With `before`, a line of the module, names have the meaning that they have before that line runs.
        """

    @abstractmethod
    def call(
        self, frame: Frame, callee: Value, positional: Values = (), keywords: Keywords | None = None
    ) -> Value:
        """Call a value; the effects go to `frame`."""

    @abstractmethod
    def run_lazily(self, frame: Frame, function: Value, positional: Values, keywords: Keywords) -> Value:
        """Run the body of a generator, coroutine or context manager."""

    @abstractmethod
    def is_strange(self, symbol: str) -> bool:
        """Return whether a name belongs to a library without source or facts."""

    @abstractmethod
    def operate(self, frame: Frame, operator: str, left: Value, right: Value) -> Value:
        """Return the value of an operator with assignment."""

    @abstractmethod
    def compare(self, frame: Frame, name: str, left: Value, right: Value) -> Value:
        """Return the result of comparing two values."""

    @abstractmethod
    def for_each_alternative(self, frame: Frame, value: Union, work: Callable[[Value], Value]) -> Value:
        """Do `work` for every alternative of a value."""

    @abstractmethod
    def define_class(self, frame: Frame, node: Node) -> int:
        """Run a class statement."""

    @abstractmethod
    def decorated(
        self, module: Module, env: Env | None, value: Value, nodes: tuple[tuple[Node, int], ...]
    ) -> Value:
        """Return a function or class with its decorators applied; their effects belong to the statement that
        runs them.
        """

    @abstractmethod
    def evaluate_decorators(
        self, frame: Frame, nodes: tuple[tuple[Node, int], ...], symbol: str
    ) -> tuple[tuple[Value, int], ...]:
        """Return the decorators of a function or class, evaluated in place."""

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
        """Return the value of a name bound by a lazy import: the import happens."""

    @abstractmethod
    def module_attribute(self, frame: Frame, state: Module, name: str) -> Value:
        """Return an attribute of a module that its body does not bind."""

    @abstractmethod
    def imported(self, target: str, name: str) -> Value:
        """Return what `from target import name` yields."""

    @abstractmethod
    def external(self, dotted: str) -> Value:
        """Return a dotted name without source, or its known value."""

    @abstractmethod
    def item(self, frame: Frame, container: Value, key: Value) -> Value:
        """Return `container[key]`."""

    @abstractmethod
    def member(self, cls: ClassRef, name: str, after: ClassRef | None = None) -> Member[Value, Value] | None:
        """Return a class's member along its bases."""

    @abstractmethod
    def instance_of(self, module: Module, env: Env | None, node: Node) -> Value:
        """Return an object of an annotated class."""

    @abstractmethod
    def guards_hold(
        self, module: Module, env: Env | None, guards: tuple[Node, ...]
    ) -> tuple[bool | None, Condition | None]:
        """Return whether a binding under these guards happens."""

    # -- what is recorded ---------------------------------------------------------------------------

    @abstractmethod
    def record_fact(self, frame: Frame, fact: Fact) -> None:
        """Record the known effect of a library at the current line."""

    @abstractmethod
    def record_import(self, frame: Frame, target: str) -> None:
        """Record that the current code imports a module."""

    @abstractmethod
    def record_failure(self, failure: Failure) -> None:
        """Record that the current code may fail: the first of each kind, and what is certain in all of
        them.
        """

    @abstractmethod
    def record_missing_name(self, frame: Frame, state: Module, name: str) -> None:
        """Record that a package lacks a name imported from it: presumably a compiled module."""


#: Follows a call of a modelled function; returns None if the model does not apply.
Model = Callable[[Interpreter, Frame, Values, Keywords], Value | None]


#: Errors that end following a module: a refusal, and recursion or memory limits, after which continuing is
#: worse.
_ENDING = (ColdforkError, RecursionError, MemoryError)


def cut_short(ev: Interpreter, frame: Frame, line: int) -> None:
    """Record that the budget ends at a line: a larger one could change the result of the surrounding code."""
    ev.memo.need_unfinished(0)
    ev.budget.end_at(frame.module.name, frame.symbol, line)


def fail_at(ev: Interpreter, module: str, symbol: str, line: int, fault: str) -> None:
    """Record that coldfork itself failed at a line, and that the surrounding result ignores it."""
    ev.memo.need_unfinished(0)
    ev.budget.fail_at(module, symbol, line, fault)


def contain(ev: Interpreter, frame: Frame, problem: Exception, line: int = 0) -> None:
    """Treat an error as a fault in coldfork itself: only the code being followed is lost."""
    if isinstance(problem, _ENDING):
        raise problem
    fail_at(ev, frame.module.name, frame.symbol, max(frame.line, frame.before, line, 1), describe(problem))
