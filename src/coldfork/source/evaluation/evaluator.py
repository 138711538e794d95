"""Follow an import: run lowered code over abstract values, and note every device that could wake."""

from __future__ import annotations

from collections.abc import Callable

from coldfork.knowledge.catalogue import Fact
from coldfork.source.evaluation.calls import decorators, functions, known_effects
from coldfork.source.evaluation.definitions import Definitions
from coldfork.source.evaluation.expressions.dispatch import EVALUATE
from coldfork.source.evaluation.expressions.operators import compare_pair, operate
from coldfork.source.evaluation.flow import binding_guards, branches
from coldfork.source.evaluation.frame import Frame, Raised
from coldfork.source.evaluation.interpreter import NEVER, Interpreter
from coldfork.source.evaluation.journal import Journal
from coldfork.source.evaluation.objects import attributes, classes, containers, import_edges, names
from coldfork.source.evaluation.statements import class_statements
from coldfork.source.evaluation.statements.dispatch import EXECUTE
from coldfork.source.evaluation.trace import Site, SiteEdge
from coldfork.source.evaluation.unproductive_calls import Toil
from coldfork.source.files.discovery import is_test
from coldfork.source.program.module import Module
from coldfork.source.program.package_environment import PackageEnvironments
from coldfork.source.program.program import Program
from coldfork.source.syntax.nodes import Block, Node
from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import UNKNOWN, ClassRef, Env, Keywords, Union, Value
from coldfork.source.values.unions import union

#: Statements (a call counts for a few) followed on behalf of one module before the rest is taken for unknown.
_FUEL = 20_000
#: Tests build values of all kinds while they are collected; they get less.
_FUEL_OF_TESTS = 4_000
_DEEPEST = 60


class Evaluator(Interpreter):
    """One analysis in progress: what the modules beside this one, which do the work, share."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.catalogue = program.catalogue
        self.known_libraries = known_effects.libraries(program.catalogue)
        self.results = {}
        self.active = {}
        self.pending = {}
        self.depth = 0
        self.fuel = _FUEL
        self.running = None
        self.running_names = None
        self.first_yield_only = False
        self.environment = {}
        self.environment_key = ()
        self.inherited = PackageEnvironments(program)
        self.failing = []
        self.resolving = {}
        self.journal = Journal()
        self.definitions = Definitions(program)
        self.toil = Toil()
        self.joining = 0
        self.globals = {}
        self.entry = {}
        self.level = 0
        self.cut = NEVER
        self.subclass_index = None

    def set_global(self, frame: Frame, name: str, value: Value) -> None:
        """A function rebinds a variable of its module."""
        key = (frame.module.name, name)
        known = self.global_value(frame, name)
        if frame.conditions or self.joining:
            value = union((known, value))
        if value is known or value == known:
            return  # nobody can tell, and what has been worked out still holds
        self.journal.note_variable(self.globals, key)
        self.globals[key] = value

    def global_value(self, frame: Frame, name: str) -> Value:
        """What a module variable holds now."""
        return names.global_value(self, frame.module, name)

    def named(self, frame: Frame, name: str) -> Value:
        """What a name means in a frame."""
        return names.name_value(self, frame, name)

    def operate(self, frame: Frame, operator: str, left: Value, right: Value) -> Value:
        """An operator with assignment."""
        return operate(self, frame, operator, left, right, in_place=True)

    def compare(self, frame: Frame, operator: str, left: Value, right: Value) -> Value:
        """What comparing two values gives."""
        return compare_pair(self, frame, operator, left, right)

    def finished(self) -> None:
        """Leave a level: an unfinished answer that only this level gave is finished now."""
        if self.cut >= self.level:
            self.cut = NEVER
        self.level -= 1

    # -- running code -------------------------------------------------------------------------------

    def evaluate(self, frame: Frame, node: Node) -> Value:
        """The value of an expression; its effects go to `frame`."""
        return EVALUATE[node[0]](self, frame, node)

    def execute(self, frame: Frame, block: Block) -> int:
        """Run a block; how it ended, as one of the codes in `statements`."""
        self.fuel -= len(block)
        for node in block:
            ended = EXECUTE[node[0]](self, frame, node)
            if ended:
                return ended
        return 0

    def quietly(self, module: Module, env: Env | None, node: Node) -> Value:
        """The value of an expression whose effects belong to somebody else."""
        frame = Frame(module, env)
        frame.quiet = True
        self.failing.append([])
        mark = self.journal.mark()
        try:
            return EVALUATE[node[0]](self, frame, node)
        except Raised:
            return UNKNOWN
        finally:
            self.failing.pop()
            self.journal.forget(mark)

    def run_module(self, state: Module) -> tuple[list[Site], list[SiteEdge]]:
        """What importing this one module does by itself: wakes, and imports of others."""
        self.environment = dict(self.inherited.environment(state))
        self.environment_key = tuple(sorted(self.environment.items(), key=str))
        self.failing.clear()
        self.globals.clear()
        self.joining = 0
        self.active.clear()
        self.pending.clear()
        self.resolving.clear()
        self.depth, self.level, self.cut = 0, 0, NEVER
        self.fuel = _FUEL_OF_TESTS if is_test(state.name, state.path) else _FUEL
        frame = Frame(state, Env())
        frame.toplevel = True
        self.running, self.running_names = state, frame.env
        frame.binds = state.summary.binds
        try:
            self.execute(frame, state.summary.body)
        except Raised:
            pass
        finally:
            self.journal.roll_back()
            self.running = self.running_names = None
        return frame.sites, frame.site_edges

    def plenty(self, fuel: int) -> bool:
        """True when a call begun with this much left had as much as any call can have."""
        return fuel > _FUEL // 2

    @property
    def exhausted(self) -> bool:
        """True when following further would take too long for what it could tell."""
        if self.depth >= _DEEPEST or self.fuel <= 0:
            self.cut = 0
            return True
        return False

    # -- what the parts need of each other ----------------------------------------------------------

    def attribute(self, frame: Frame, value: Value, name: str) -> Value:
        """`value.name`, with what reading it runs."""
        return attributes.attribute(self, frame, value, name)

    def module_attribute(self, frame: Frame, state: Module, name: str) -> Value:
        """An attribute of a module that its body does not bind."""
        return attributes.module_attribute(self, frame, state, name)

    def external(self, dotted: str) -> Value:
        """A dotted name without source, or the value that it is known to have."""
        return attributes.external(self, dotted)

    def call(
        self,
        frame: Frame,
        callee: Value,
        positional: tuple[Value, ...] = (),
        keywords: Keywords | None = None,
    ) -> Value:
        """Call a value; what that runs goes to `frame`."""
        return functions.call(self, frame, callee, positional, keywords or {})

    def run_lazily(
        self, frame: Frame, callee: Value, positional: tuple[Value, ...], keywords: Keywords
    ) -> Value:
        """Run the body of a generator, coroutine or context manager."""
        return functions.run_lazily(self, frame, callee, positional, keywords)

    def item(self, frame: Frame, container: Value, key: Value) -> Value:
        """`container[key]`."""
        return containers.item(self, frame, container, key)

    def each(self, frame: Frame, value: Union, work: Callable[[Value], Value]) -> Value:
        """Do `work` for every alternative of a value."""
        return branches.each(self, frame, value, work)

    def fact(self, frame: Frame, fact: Fact) -> None:
        """Note what a library is known to do at the current line."""
        known_effects.note(self, frame, fact)

    def decorated(
        self, module: Module, env: Env | None, value: Value, nodes: tuple[tuple[Node, int], ...]
    ) -> Value:
        """A function or class behind its decorators, their effects left to the statement that runs them."""
        return decorators.decorated(self, module, env, value, nodes)

    def apply_decorators(
        self, frame: Frame, value: Value, nodes: tuple[tuple[Node, int], ...], symbol: str
    ) -> Value:
        """Apply decorators where they stand."""
        return decorators.apply(self, frame, value, nodes, symbol)

    def define_class(self, frame: Frame, node: Node) -> int:
        """Run a class statement."""
        return class_statements.define_class(self, frame, node)

    def imports(self, frame: Frame, target: str) -> None:
        """Note that the code at hand imports a module."""
        import_edges.note(self, frame, target)

    def absent(self, frame: Frame, state: Module, name: str) -> None:
        """Note that a package lacks what is imported from it: presumably a compiled module."""
        import_edges.absent(self, frame, state, name)

    def guards_hold(
        self, module: Module, env: Env | None, around: tuple[Node, ...]
    ) -> tuple[bool | None, Condition | None]:
        """Whether a binding under these guards happens."""
        return binding_guards.guards_hold(self, module, env, around)

    def instance_of(self, module: Module, env: Env | None, node: Node) -> Value:
        """An object of an annotated class."""
        return classes.instance_of_annotation(self, module, env, node)

    def member(self, cls: ClassRef, name: str, after: ClassRef | None = None) -> tuple[Value, Value] | None:
        """A class's member along its bases."""
        return classes.member(self, cls, name, after)
