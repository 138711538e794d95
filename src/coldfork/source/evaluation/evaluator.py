"""Follows an import: runs lowered code with abstract values, and records every device that it may wake."""

from __future__ import annotations

import sys
from collections.abc import Callable

from coldfork.knowledge.catalogue import Catalogue
from coldfork.source.evaluation.budget import Budget
from coldfork.source.evaluation.calls import decorators, functions, known_effects, offered_functions
from coldfork.source.evaluation.expressions.dispatch import EVALUATE
from coldfork.source.evaluation.expressions.operators import compare_pair, operate
from coldfork.source.evaluation.flow import branches, raising
from coldfork.source.evaluation.frame import Frame, Raised
from coldfork.source.evaluation.interpreter import Disturbing, Interpreter, contain
from coldfork.source.evaluation.journal import Journal
from coldfork.source.evaluation.memo import Memo, UnproductiveCalls, UnreadTexts
from coldfork.source.evaluation.objects import attributes, classes, containers, import_edges, names
from coldfork.source.evaluation.running import Definitions, EnvironmentVariables, RunningModule
from coldfork.source.evaluation.statements import class_statements
from coldfork.source.evaluation.statements.dispatch import EXECUTE, execute_body
from coldfork.source.evaluation.trace import Cut, Failure, Site, SiteEdge, SiteStart
from coldfork.source.files.started import called, is_offering, is_test
from coldfork.source.program.module import Module
from coldfork.source.program.package_environment import PackageEnvironments
from coldfork.source.program.program import Program
from coldfork.source.semantics.classes import Member
from coldfork.source.syntax.nodes import Block, Node
from coldfork.source.values.kinds import UNKNOWN, ClassRef, Env, Keywords, Value, Values

_AT_HAND = sys.stdlib_module_names | {"builtins"}


class Evaluator(Interpreter):
    """One analysis in progress: the state that the other modules of this package work on."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.catalogue: Catalogue = program.catalogue
        self.known_libraries: frozenset[str] = known_effects.libraries(program.catalogue)
        self.definitions: Definitions = Definitions(program)
        self.journal: Journal = Journal()
        self.memo: Memo = Memo(self.journal)
        self.budget: Budget = Budget()
        self.unproductive_calls: UnproductiveCalls = UnproductiveCalls()
        self.unread_texts: UnreadTexts = UnreadTexts()
        self.environment: EnvironmentVariables = EnvironmentVariables()
        self.running: RunningModule = RunningModule()
        self.failing: list[dict[tuple[str, bool], Failure]] = []
        self.joining = 0
        self.presumes = True
        self.unknown_code = None
        self.first_yield_only = False
        self._classes = classes.Classes(self)
        self._package_environments = program.kept(PackageEnvironments)
        self._strange: dict[str, bool] = {}

    def close(self) -> None:
        """Release all results, which otherwise keep each other alive."""
        vars(self._classes).clear()
        vars(self).clear()

    def global_value(self, frame: Frame, name: str) -> Value:
        return names.global_value(self, frame.module, name)

    def operate(self, frame: Frame, operator: str, left: Value, right: Value) -> Value:
        return operate(self, frame, operator, left, right, in_place=True)

    def is_strange(self, symbol: str) -> bool:
        top = symbol.partition(".")[0]
        known = self._strange.get(top)
        if known is None:
            here = top in self.known_libraries or top in _AT_HAND or self.program.finder.find(top) is not None
            known = self._strange[top] = not here
        return known

    # -- running code -------------------------------------------------------------------------------

    def evaluate(self, frame: Frame, node: Node) -> Value:
        return EVALUATE[node[0]](self, frame, node)

    def execute(self, frame: Frame, block: Block) -> int:
        self.budget.left -= len(block)
        if frame.function is None:
            return execute_body(self, frame, block)
        for node in block:
            ended = EXECUTE[node[0]](self, frame, node)
            if ended:
                return ended
        return 0

    def quietly(self, module: Module, env: Env | None, node: Node, before: int = 0) -> Value:
        frame = Frame(module, env)
        frame.quiet = True
        frame.before = before
        self.failing.append({})
        mark = self.journal.mark()
        try:
            return EVALUATE[node[0]](self, frame, node)
        except Raised:
            return UNKNOWN
        except Exception as problem:
            contain(self, frame, problem)
            return UNKNOWN
        finally:
            self.failing.pop()
            self.journal.forget(mark)

    def run_module(
        self, module: Module
    ) -> tuple[tuple[Site, ...], tuple[SiteEdge, ...], tuple[Cut, ...], int, tuple[SiteStart, ...]]:
        """Return the wakes and imports of a module that is imported on its own.

        Also return where the analysis of the module ended early, how many of its lines call unknown code, and
        the processes that it starts.
        """
        self.environment.begin(self._package_environments.environment(module))
        self.budget.begin(is_test(module.name, module.path), module.is_started and self.program.hurried)
        self.memo.begin()
        self.failing.clear()
        self.joining = 0
        env = Env()
        self.running.begin(module, env)
        frame = Frame(module, env)
        frame.toplevel = True
        frame.binds = module.summary.binds
        try:
            self.execute(frame, module.summary.body)
            if function := called(module.name):
                offered_functions.call_command(self, frame, function)
            elif module.is_started and is_offering(module.name):
                offered_functions.call(self, frame)
        except Raised:
            pass
        finally:
            self.journal.roll_back()
            self.running.end()
        unfollowed = len(self.running.unfollowed)
        starts = tuple(frame.site_starts)
        return tuple(frame.sites), tuple(frame.site_edges), self.budget.cuts, unfollowed, starts

    def run_body(
        self,
        module: Module,
        run: Callable[[Frame], None],
        environment: dict[str, str | None],
        variables: dict[tuple[str, str], Value],
        unknown_code: Disturbing,
    ) -> tuple[Site, ...]:
        """Return the wakes of a call in a process with a known environment and known module variables.

        Here, a wake is certain only if every run wakes the device, not if nearly every run does.
        """
        self.presumes = False
        self.unknown_code = unknown_code
        self.environment.begin(environment)
        self.budget.begin(of_test=False)
        self.memo.begin()
        self.failing.clear()
        self.joining: int = 0
        env = Env()
        self.running.begin(module, env)
        self.running.rebound.update(variables)
        frame = Frame(module, env)
        frame.toplevel = True
        try:
            run(frame)
        except Raised:
            pass
        finally:
            self.running.end()
            self.presumes: bool = True
            self.unknown_code = None
        return () if self.budget.cuts else tuple(frame.sites)

    # -- the interface for the parts, whose functions take the evaluator as their first argument --------

    compare = compare_pair
    attribute = attributes.attribute
    module_attribute = attributes.module_attribute
    imported = names.imported_value
    external = attributes.external
    run_lazily = functions.run_lazily
    item = containers.item
    for_each_alternative = branches.for_each_alternative
    record_fact = known_effects.record_fact
    decorated = decorators.decorated
    evaluate_decorators = decorators.evaluate
    apply_decorators = decorators.apply
    define_class = class_statements.define_class
    read_lazily = import_edges.read_lazily
    record_import = import_edges.record_import
    record_missing_name = import_edges.record_missing_name
    guards_hold = raising.guards_hold
    instance_of = classes.instance_of_annotation

    def call(
        self, frame: Frame, callee: Value, positional: Values = (), keywords: Keywords | None = None
    ) -> Value:
        return functions.call(self, frame, callee, positional, keywords or {})

    def member(self, cls: ClassRef, name: str, after: ClassRef | None = None) -> Member[Value, Value] | None:
        return self._classes.member(cls, name, after)

    def record_failure(self, failure: Failure) -> None:
        if self.failing:
            kept, key = self.failing[-1], (failure.kind, failure.even)
            first = kept.get(key)
            kept[key] = failure if first is None else first.joined(failure)
