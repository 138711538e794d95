"""What the parts of the evaluator ask of each other: the state they share, and the work that others do.

Following code is recursive: an expression calls a function, whose statements hold expressions. Each part
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
    """What code that cannot be followed may change."""

    calls: int

    def called(self, callee: Value, positional: Values, keywords: Keywords) -> None:
        """Something is called."""

    def met(self, *given: Value) -> None:
        """Code that cannot be followed is handed these, and may run now."""

    def hand(self, *given: Value) -> None:
        """Code that cannot be followed gets hold of these."""


class Interpreter(ABC):
    """One analysis in progress, as its parts see it."""

    program: Program
    catalogue: Catalogue
    known_libraries: frozenset[str]
    """Top-level names of the packages that the catalogue knows something of."""
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
    """How many of the ways being followed have a sibling that was followed before."""
    presumes: bool
    """Whether what nearly always holds is taken for granted; else every way is as likely as another."""
    strangers: Disturbing | None
    """What code that cannot be followed may change; None where it is taken to change nothing."""
    first_yield_only: bool
    """Set for the generator that `next` is about to run."""

    # -- running code -------------------------------------------------------------------------------

    @abstractmethod
    def evaluate(self, frame: Frame, node: Node) -> Value:
        """The value of an expression; its effects go to `frame`."""

    @abstractmethod
    def execute(self, frame: Frame, block: Block) -> int:
        """Run a block; how it ended, as one of the codes in `flow.branches`."""

    @abstractmethod
    def quietly(self, module: Module, env: Env | None, node: Node, before: int = 0) -> Value:
        """The value of an expression whose effects belong to somebody else.

        With `before`, a line of the module: names mean what they do when that line has not run yet.
        """

    @abstractmethod
    def call(
        self, frame: Frame, callee: Value, positional: Values = (), keywords: Keywords | None = None
    ) -> Value:
        """Call a value; what that runs goes to `frame`."""

    @abstractmethod
    def run_lazily(self, frame: Frame, function: Value, positional: Values, keywords: Keywords) -> Value:
        """Run the body of a generator, coroutine or context manager."""

    @abstractmethod
    def is_strange(self, symbol: str) -> bool:
        """Whether a name is of a library of which nothing is at hand, neither source nor facts."""

    @abstractmethod
    def operate(self, frame: Frame, operator: str, left: Value, right: Value) -> Value:
        """An operator with assignment."""

    @abstractmethod
    def compare(self, frame: Frame, name: str, left: Value, right: Value) -> Value:
        """What comparing two values gives."""

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
        """A function or class behind its decorators, their effects left to the statement that runs them."""

    @abstractmethod
    def evaluate_decorators(
        self, frame: Frame, nodes: tuple[tuple[Node, int], ...], symbol: str
    ) -> tuple[tuple[Value, int], ...]:
        """The decorators of a function or class, evaluated where they stand."""

    @abstractmethod
    def apply_decorators(
        self, frame: Frame, value: Value, decorators: tuple[tuple[Value, int], ...], symbol: str
    ) -> Value:
        """Apply decorators, the last one first."""

    # -- names and attributes -----------------------------------------------------------------------

    @abstractmethod
    def global_value(self, frame: Frame, name: str) -> Value:
        """What a module variable holds now."""

    @abstractmethod
    def attribute(self, frame: Frame, value: Value, name: str) -> Value:
        """`value.name`, with what reading it runs."""

    @abstractmethod
    def read_lazily(self, frame: Frame, value: Value) -> Value:
        """What reading a name gives that a lazy import has bound: the import happens."""

    @abstractmethod
    def module_attribute(self, frame: Frame, state: Module, name: str) -> Value:
        """An attribute of a module that its body does not bind."""

    @abstractmethod
    def imported(self, target: str, name: str) -> Value:
        """What `from target import name` yields."""

    @abstractmethod
    def external(self, dotted: str) -> Value:
        """A dotted name without source, or the value that it is known to have."""

    @abstractmethod
    def item(self, frame: Frame, container: Value, key: Value) -> Value:
        """`container[key]`."""

    @abstractmethod
    def member(self, cls: ClassRef, name: str, after: ClassRef | None = None) -> Member[Value, Value] | None:
        """A class's member along its bases."""

    @abstractmethod
    def instance_of(self, module: Module, env: Env | None, node: Node) -> Value:
        """An object of an annotated class."""

    @abstractmethod
    def guards_hold(
        self, module: Module, env: Env | None, guards: tuple[Node, ...]
    ) -> tuple[bool | None, Condition | None]:
        """Whether a binding under these guards happens."""

    # -- what is recorded ---------------------------------------------------------------------------

    @abstractmethod
    def record_fact(self, frame: Frame, fact: Fact) -> None:
        """Record what a library is known to do at the current line."""

    @abstractmethod
    def record_import(self, frame: Frame, target: str) -> None:
        """Record that the code at hand imports a module."""

    @abstractmethod
    def record_failure(self, failure: Failure) -> None:
        """Record that the code at hand may fail: the first of each kind, and what is sure in all of them."""

    @abstractmethod
    def record_missing_name(self, frame: Frame, state: Module, name: str) -> None:
        """Record that a package lacks what is imported from it: presumably a compiled module."""


#: How a call of a function that is modelled is followed; None where the model has nothing to say.
Model = Callable[[Interpreter, Frame, Values, Keywords], Value | None]


#: What ends following a module: a refusal, and what has run so deep or so far that going on makes it worse.
_ENDING = (ColdforkError, RecursionError, MemoryError)


def cut_short(ev: Interpreter, frame: Frame, line: int) -> None:
    """Say that the budget ends at a line: with a larger one, what is around would come to something else."""
    ev.memo.need_unfinished(0)
    ev.budget.end_at(frame.module.name, frame.symbol, line)


def fail_at(ev: Interpreter, module: str, symbol: str, line: int, fault: str) -> None:
    """Say that coldfork itself failed at a line, and that what is around rests on nothing there."""
    ev.memo.need_unfinished(0)
    ev.budget.fail_at(module, symbol, line, fault)


def contain(ev: Interpreter, frame: Frame, problem: Exception, line: int = 0) -> None:
    """Take an error for a fault of coldfork's own: it costs what was being followed, and nothing else."""
    if isinstance(problem, _ENDING):
        raise problem
    fail_at(ev, frame.module.name, frame.symbol, max(frame.line, frame.before, line, 1), describe(problem))
