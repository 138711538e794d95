"""The table of fields describes every node that lowering makes, and the walker finds what runs."""

from __future__ import annotations

import ast
import sysconfig
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from coldfork.source.syntax import nodes
from coldfork.source.syntax.imports import declare
from coldfork.source.syntax.lowering import blocks
from coldfork.source.syntax.lowering.blocks import lower_function, lower_module
from coldfork.source.syntax.lowering.context import Context
from coldfork.source.syntax.newer.parsing import parse_any
from coldfork.source.syntax.nodes import Binding, Case, Handler, Node, code_of
from coldfork.source.syntax.walk import FIELDS, Holds, children, walk
from tests.amounts import step

#: Every eighth module; all of them, when the table or the lowering changes, take a minute.
STANDARD_LIBRARY = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))[:: step(8)]
SOURCE = Path(nodes.__file__).parents[1]
#: What variables are called that hold a node, or a part of one.
HOLDERS = frozenset(
    {
        "node",
        "code",
        "target",
        "payload",
        "entry",
        "callee",
        "case",
        "pattern",
        "statement",
        "guard",
        "expression",
    }
)
#: What is rare in the standard library, and what only stands in functions.
CONSTRUCTS = """
import os.path as path, sys
from . import sibling as other
answer: int = f(1, *rest, key=value, **more)
class Thing(Base[int], metaclass=meta(), **options):
    nothing: here.and_there
    try:
        size = measure()
    except OSError:
        size = 0
    if size:
        large = True
@decorate(1)
async def function(a, b=f(), *rest: g(), c=h(), d, **more) -> "Thing":
    global first
    async for a, (b, *c) in items() if b else other():
        continue
    else:
        break
    async with opened() as d.e, another():
        await d[0:1, ::2]
    x = y = lambda p, q=f(), *, r=g(): p
    x[f()].name += (yield)
    z: Thing = yield from f"{a!r}{b:>{c()}}{d}"
    del x, y[f()]
    assert not (a := -f())
    def inner(i=f()) -> g():
        nonlocal x
        return {**a, "k": b(), **{c: d for c, d in e() if c() if d}}
    match subject():
        case Point(x=0, y=[a, *b]) if guard():
            f()
        case "text" | None: pass
        case Color.RED: g()
        case {"k": v, **rest}: pass
        case _: h()
    try:
        return [i for i in a or b()], {i async for i in a}, (i for i in a)
    except* (OSError, f()) as error:
        raise error
    else:
        raise
    finally:
        while x < f() <= 2 and g():
            pass
"""
LAZY = b"lazy import os.path as path, sys\nlazy from . import sibling as other\n"


def fail(*_: object) -> NoReturn:
    """Fail as coldfork may at a statement that nobody thought of."""
    raise LookupError


def test_the_table_describes_every_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every field of every node holds what the table says, and every row of the table is used."""
    check = Check()
    for tree in trees():
        block, scope = lower_module(Context(), tree.body)
        check.of(Holds.BLOCK, block)
        check.of(Holds.BINDINGS, scope.frozen())
        if scope.loads:
            check.node((nodes.LOADS, 0, tuple(scope.loads.items())))
    monkeypatch.setitem(blocks._STATEMENTS, ast.Pass, fail)
    block, _ = lower_module(Context(), ast.parse("pass").body)
    check.of(Holds.BLOCK, block)
    assert check.opcodes == set(FIELDS)
    assert check.kinds == set(Holds)


def test_the_walker_finds_every_call_that_a_function_runs() -> None:
    """CPython's own tree says which calls stand in a function; those of functions inside it are not run."""
    compared = 0
    for tree in trees():
        for function in ast.walk(tree):
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                code = code_of(lower_function(Context(), function))
                found = {node[4:6] for node in walk(code.block) if node[0] == nodes.CALL}
                expected = {
                    (call.lineno, call.col_offset)
                    for statement in function.body
                    for call in running(statement)
                    if isinstance(call, ast.Call)
                }
                assert found == expected, f"{function.name}, line {function.lineno}"
                compared += len(expected)
    assert compared > 1_000


def test_children_come_in_the_order_in_which_they_run() -> None:
    """Each node comes before those inside it, and a statement before the one below it."""
    tree = ast.parse("def f():\n    a(b(), c=d())\n    [e() for g in h() if i()]\n    j()\n")
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    block = code_of(lower_function(Context(), function)).block
    assert [node[1] for node in walk(block) if node[0] == nodes.NAME] == list("abdehij")
    assert [node[0] for node in children(block[0])] == [nodes.CALL]


def test_the_code_of_a_function_is_not_run_where_it_is_defined() -> None:
    """Of a lambda and of a nested function only what their headers hold is walked."""
    tree = ast.parse("def f():\n    lambda a=b(), *, c=d(): e()\n    @g()\n    def h(i=j()): k()\n")
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    block = code_of(lower_function(Context(), function)).block
    assert [node[1] for node in walk(block) if node[0] == nodes.NAME] == ["b", "d", "g", "j"]


def test_what_a_node_holds_is_asked_for_by_name() -> None:
    """Nodes and what is in them are unpacked, matched or seen through a view, and never read by position."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Subscript) and position(node) is not None:
                name = ast.unparse(node.value)
                inner = node.value if isinstance(node.value, ast.Subscript) else None
                if (name in HOLDERS and position(node) != 0) or (
                    inner is not None and position(inner) is not None
                ):
                    found.append(f"{path.relative_to(SOURCE)}: {ast.unparse(node)}")
    assert found == [
        "semantics/classes.py: orders[0][0]",  # classes
        "syntax/nodes.py: statement[1]",  # the view itself
    ]


def position(subscript: ast.Subscript) -> int | None:
    """The number by which something is asked for, if it is written out."""
    index = subscript.slice
    return index.value if isinstance(index, ast.Constant) and type(index.value) is int else None


def trees() -> Iterator[ast.Module]:
    """The constructs above, and the modules of the standard library."""
    yield ast.parse(CONSTRUCTS)
    lazily = parse_any(LAZY)
    declare(lazily, LAZY, (3, 15))
    yield lazily
    for path in STANDARD_LIBRARY:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield ast.parse(path.read_bytes())


def running(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of CPython's tree that run with one of them, as far as lowering keeps them."""
    yield node
    for child in parts_that_run(node):
        yield from running(child)


def parts_that_run(node: ast.AST) -> Iterator[ast.AST]:
    """The same, directly inside it."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        yield from node.decorator_list
        yield from defaults(node.args)
        yield from (a.annotation for a in ast.walk(node.args) if isinstance(a, ast.arg) and a.annotation)
        yield from [node.returns] if node.returns else []
    elif isinstance(node, ast.Lambda):
        yield from defaults(node.args)
    elif isinstance(node, ast.AnnAssign):  # in a function: its annotation is not evaluated
        yield from (part for part in (node.target, node.value) if part is not None)
    elif isinstance(node, ast.Assert):  # its message is made when it fails
        yield node.test
    elif isinstance(node, ast.ClassDef):
        yield from ast.iter_child_nodes(node)
        yield from (one.annotation for one in node.body if isinstance(one, ast.AnnAssign))
    else:
        yield from ast.iter_child_nodes(node)


def defaults(arguments: ast.arguments) -> Iterator[ast.expr]:
    """The default values of parameters."""
    yield from arguments.defaults
    yield from (value for value in arguments.kw_defaults if value is not None)


class Check:
    """Asserts that nodes are what the table says, and remembers what it has met."""

    def __init__(self) -> None:
        self.opcodes: set[int] = set()
        self.kinds: set[Holds] = set()
        self._of: dict[Holds, Callable[[Any], None]] = {
            Holds.PLAIN: self.plain,
            Holds.LINE: self.line,
            Holds.SPAN: self.span,
            Holds.SPANS: lambda value: self.each(self.span, value),
            Holds.EXPRESSION: self.expression,
            Holds.OPTIONAL: self.optional,
            Holds.EXPRESSIONS: lambda value: self.each(self.expression, value),
            Holds.OPTIONALS: lambda value: self.each(self.optional, value),
            Holds.KEYWORDS: lambda value: self.each(self.keyword, value),
            Holds.DECORATORS: lambda value: self.each(self.decorator, value),
            Holds.GENERATORS: lambda value: self.each(self.generator, value),
            Holds.TARGET: self.target,
            Holds.TARGETS: lambda value: self.each(self.target, value),
            Holds.PATTERN: self.pattern,
            Holds.OPTIONAL_PATTERN: lambda value: None if value is None else self.pattern(value),
            Holds.PATTERNS: lambda value: self.each(self.pattern, value),
            Holds.BLOCK: lambda value: self.each(self.statement, value),
            Holds.PROGRAM: lambda value: self.each(self.statement, value),
            Holds.HANDLERS: lambda value: self.each(self.handler, value),
            Holds.CASES: lambda value: self.each(self.case, value),
            Holds.CONTEXTS: lambda value: self.each(self.context, value),
            Holds.HEADER: self.header,
            Holds.CODE: lambda value: None if value is None else self.code(value),
            Holds.LAMBDA_CODE: self.code,
            Holds.BINDINGS: self.bindings,
        }

    def of(self, holds: Holds, value: Any) -> None:
        self.kinds.add(holds)
        self._of[holds](value)

    def node(self, node: Node) -> None:
        assert type(node) is tuple
        opcode, *values = node
        self.opcodes.add(opcode)
        assert len(values) == len(FIELDS[opcode]), node
        for (name, holds), value in zip(FIELDS[opcode], values, strict=True):
            try:
                self.of(holds, value)
            except AssertionError as error:
                error.add_note(f"in {name} of {node!r:.300}")
                raise

    def each(self, check: Callable[[Any], None], value: Any) -> None:
        assert type(value) is tuple
        for one in value:
            check(one)

    def plain(self, value: Any) -> None:
        """Nothing that could be a node: a tuple of a number and more."""
        if type(value) is tuple:
            for one in value:
                assert type(one) is str or one is None or (type(one) is tuple and type(one[0]) is str), value

    def line(self, value: Any) -> None:
        assert type(value) is int

    def span(self, value: Any) -> None:
        assert type(value) is tuple
        assert [type(one) for one in value] == [int] * 4

    def expression(self, value: Any) -> None:
        assert value[0] < nodes.EXPR
        self.node(value)

    def optional(self, value: Any) -> None:
        if value is not None:
            self.expression(value)

    def statement(self, value: Any) -> None:
        assert nodes.EXPR <= value[0] < nodes.TO_NAME
        self.line(value[1])
        self.node(value)

    def target(self, value: Any) -> None:
        assert nodes.TO_NAME <= value[0] < nodes.CASE_VALUE
        self.node(value)

    def pattern(self, value: Any) -> None:
        assert value[0] >= nodes.CASE_VALUE
        self.node(value)

    def keyword(self, value: Any) -> None:
        name, given = value
        assert name is None or type(name) is str
        self.expression(given)

    def decorator(self, value: Any) -> None:
        expression, line = value
        self.expression(expression)
        self.line(line)

    def generator(self, value: Any) -> None:
        target, iterable, conditions = value
        self.target(target)
        self.expression(iterable)
        for condition, span in conditions:
            self.expression(condition)
            self.span(span)

    def handler(self, value: Any) -> None:
        handler = Handler._make(value)
        self.optional(handler.exceptions)
        assert handler.name is None or type(handler.name) is str
        self.of(Holds.BLOCK, handler.block)
        self.line(handler.line)

    def case(self, value: Any) -> None:
        case = Case._make(value)
        self.of(Holds.PATTERN, case.pattern)
        self.optional(case.guard)
        self.of(Holds.BLOCK, case.block)
        self.line(case.line)

    def context(self, value: Any) -> None:
        expression, target = value
        self.expression(expression)
        if target is not None:
            self.target(target)

    def header(self, value: Any) -> None:
        if value is not None:
            defaults, annotations = value
            self.of(Holds.EXPRESSIONS, defaults)
            self.of(Holds.EXPRESSIONS, annotations)

    def code(self, value: Any) -> None:
        code = code_of(value)
        parameters = code.parameters
        names = (*parameters.positional, *parameters.keyword_only, parameters.star, parameters.double_star)
        assert all(name is None or type(name) is str for name in names)
        assert 0 <= parameters.positional_only <= len(parameters.positional)
        assert len(parameters.defaults) <= len(parameters.positional)
        assert len(parameters.keyword_defaults) == len(parameters.keyword_only)
        self.of(Holds.EXPRESSIONS, parameters.defaults)
        self.of(Holds.OPTIONALS, parameters.keyword_defaults)
        self.of(Holds.BLOCK, code.block)
        assert type(code.is_generator) is type(code.is_async) is bool
        assert type(code.name) is str
        self.line(code.line)
        self.optional(code.returns)
        for name, annotation in code.annotations:
            assert type(name) is str
            self.expression(annotation)

    def bindings(self, value: Any) -> None:
        for name, entries in value.items():
            assert type(name) is str
            for entry in entries:
                self.binding(Binding._make(entry))

    def binding(self, binding: Binding) -> None:
        self.line(binding.line)
        for guard in binding.guards:
            self.guard(guard)
        how, payload = binding.how, binding.payload
        if how == nodes.BY_IMPORT:
            dotted, aliased = payload
            assert (type(dotted), type(aliased)) == (str, bool)
        elif how == nodes.BY_FROM:
            module, level, name = payload
            assert module is None or type(module) is str
            assert (type(level), type(name)) == (int, str)
        elif how == nodes.BY_LAZY_IMPORT:
            assert [type(part) for part in payload] == [str, bool, bool, int]
        elif how == nodes.BY_LAZY_FROM:
            module, *others = payload
            assert module is None or type(module) is str
            assert [type(part) for part in others] == [int, str, bool, int]
        elif how in (nodes.BY_VALUE, nodes.BY_TYPE):
            self.expression(payload)
        else:
            expected = {nodes.BY_DEF: nodes.DEF, nodes.BY_CLASS: nodes.CLASS}
            assert payload[0] == expected.get(how, payload[0])
            assert how in (*expected, nodes.BY_STATEMENT)
            self.statement(payload)

    def guard(self, guard: Node) -> None:
        if guard[0] == nodes.WHEN:
            _, test, wanted, line, span = guard
            self.expression(test)
            assert type(wanted) is bool
            self.line(line)
            self.span(span)
        else:
            opcode, block, exceptions, line = guard
            assert opcode == nodes.AFTER_FAILURE
            self.of(Holds.BLOCK, block)
            self.optional(exceptions)
            self.line(line)
