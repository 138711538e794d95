"""Turn `ast` nodes into the compact form of `ir`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from coldfork.source.syntax import nodes as ir
from coldfork.source.syntax.lowering.blocks import lower_block
from coldfork.source.syntax.nodes import Block, Node

_LARGEST_LITERAL = 400
_OPERATORS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv",
    ast.Mod: "mod", ast.Pow: "pow", ast.LShift: "lshift", ast.RShift: "rshift", ast.BitOr: "or",
    ast.BitXor: "xor", ast.BitAnd: "and", ast.MatMult: "matmul",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
    ast.UAdd: "pos", ast.USub: "neg", ast.Invert: "invert",
}  # fmt: skip
_UNKNOWN_CONSTANT: Node = (ir.OTHER, ())


class Lowerer:
    """Lowers one parsed piece of a file; `offset` is added to every line of it."""

    def __init__(
        self,
        offset: int = 0,
        postponed: bool = False,
        blanked: Container[int] = (),
        runs: Mapping[int, Sequence[int]] = MappingProxyType({}),
    ) -> None:
        self.offset = offset
        self.postponed = postponed
        self.yields = False
        self.blanked = blanked
        self.runs = runs

    # -- expressions ----------------------------------------------------------------------------

    def expression(self, node: ast.expr) -> Node:
        """Lower one expression."""
        method = _EXPRESSIONS.get(type(node))
        if method is None:
            return (
                ir.OTHER,
                tuple(self.expression(n) for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)),
            )
        return method(self, node)

    def span(self, node: ast.expr) -> tuple[int, int, int, int]:
        """Where the text of `node` stands, to quote it later."""
        return (
            node.lineno + self.offset,
            node.col_offset,
            (node.end_lineno or node.lineno) + self.offset,
            node.end_col_offset or 0,
        )

    def _constant(self, node: ast.Constant) -> Node:
        value = node.value
        if isinstance(value, (str, bytes)) and len(value) > _LARGEST_LITERAL:
            return (ir.CONST, value[:_LARGEST_LITERAL])
        return (ir.CONST, value)

    def _name(self, node: ast.Name) -> Node:
        return (ir.NAME, node.id, node.lineno + self.offset)

    def _attribute(self, node: ast.Attribute) -> Node:
        return (ir.ATTR, self.expression(node.value), node.attr, node.lineno + self.offset)

    def _call(self, node: ast.Call) -> Node:
        expression = self.expression
        return (
            ir.CALL,
            expression(node.func),
            tuple([expression(argument) for argument in node.args]),
            tuple([(keyword.arg, expression(keyword.value)) for keyword in node.keywords]),
            node.lineno + self.offset,
            node.col_offset,
            (node.end_lineno or node.lineno) + self.offset,
        )

    def _ifexp(self, node: ast.IfExp) -> Node:
        return (
            ir.IFEXP,
            self.expression(node.test),
            self.expression(node.body),
            self.expression(node.orelse),
            node.lineno + self.offset,
            self.span(node.test),
        )

    def _bool(self, node: ast.BoolOp) -> Node:
        return (
            ir.BOOL,
            isinstance(node.op, ast.And),
            tuple([self.expression(value) for value in node.values]),
            node.lineno + self.offset,
            tuple([self.span(value) for value in node.values]),
        )

    def _unary(self, node: ast.UnaryOp) -> Node:
        if isinstance(node.op, ast.Not):
            return (ir.NOT, self.expression(node.operand))
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            value = node.operand.value
            if isinstance(value, (int, float, complex)):
                return (ir.CONST, -value)
        return (ir.UNARY, _OPERATORS[type(node.op)], self.expression(node.operand))

    def _compare(self, node: ast.Compare) -> Node:
        return (
            ir.COMPARE,
            self.expression(node.left),
            tuple([_OPERATORS[type(op)] for op in node.ops]),
            tuple([self.expression(value) for value in node.comparators]),
        )

    def _sequence(self, node: ast.List | ast.Tuple | ast.Set) -> Node:
        if len(node.elts) > _LARGEST_LITERAL and all(isinstance(e, ast.Constant) for e in node.elts):
            return _UNKNOWN_CONSTANT
        kind = "list" if isinstance(node, ast.List) else "tuple" if isinstance(node, ast.Tuple) else "set"
        return (ir.SEQUENCE, kind, tuple([self.expression(element) for element in node.elts]))

    def _dict(self, node: ast.Dict) -> Node:
        return (
            ir.DICT,
            tuple([None if key is None else self.expression(key) for key in node.keys]),
            tuple([self.expression(value) for value in node.values]),
        )

    def _subscript(self, node: ast.Subscript) -> Node:
        return (ir.INDEX, self.expression(node.value), self.expression(node.slice), node.lineno + self.offset)

    def _slice(self, node: ast.Slice) -> Node:
        parts = [self.expression(part) for part in (node.lower, node.upper, node.step) if part is not None]
        return (ir.SLICE, tuple(parts))

    def _lambda(self, node: ast.Lambda) -> Node:
        outer, self.yields = self.yields, False
        body = ((ir.RETURN, node.lineno + self.offset, 0, self.expression(node.body)),)
        code = (
            self.parameters(node.args),
            body,
            self.yields,
            False,
            "<lambda>",
            node.lineno + self.offset,
            None,
            (),
        )
        self.yields = outer
        return (ir.LAMBDA, code)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Node:
        elements: tuple[Node, ...]
        if isinstance(node, ast.DictComp):
            kind, elements = "dict", (self.expression(node.key), self.expression(node.value))
        else:
            kinds = {ast.ListComp: "list", ast.SetComp: "set", ast.GeneratorExp: "generator"}
            kind, elements = kinds[type(node)], (self.expression(node.elt),)
        generators = tuple(
            (
                self.target(generator.target),
                self.expression(generator.iter),
                tuple((self.expression(test), self.span(test)) for test in generator.ifs),
            )
            for generator in node.generators
        )
        return (ir.COMPREHENSION, kind, elements, generators, node.lineno + self.offset)

    def _binary(self, node: ast.BinOp) -> Node:
        return (
            ir.BINARY,
            _OPERATORS[type(node.op)],
            self.expression(node.left),
            self.expression(node.right),
            node.lineno + self.offset,
        )

    def _walrus(self, node: ast.NamedExpr) -> Node:
        return (ir.WALRUS, node.target.id, self.expression(node.value))

    def _joined(self, node: ast.JoinedStr) -> Node:
        parts: list[Node] = []
        for value in node.values:
            if isinstance(value, ast.Constant):
                parts.append((ir.CONST, value.value))
            elif isinstance(value, ast.FormattedValue):
                parts.append(self._formatted(value))
            else:
                parts.append(self.expression(value))
        return (ir.JOINED, tuple(parts))

    def _formatted(self, node: ast.FormattedValue) -> Node:
        inner = self.expression(node.value)
        if node.format_spec is None and node.conversion in (-1, ord("s")):
            return inner
        # What it comes to is not known, only what is run on the way.
        asked = ("__repr__",) if node.conversion in (ord("r"), ord("a")) else ("__format__", "__str__")
        written: Node = (ir.JOINED, (inner,), asked)
        if node.format_spec is None:
            return (ir.OTHER, (written,))
        return (ir.OTHER, (written, self.expression(node.format_spec)))

    def _yield(self, node: ast.Yield | ast.YieldFrom) -> Node:
        self.yields = True
        value = None if node.value is None else self.expression(node.value)
        return (ir.YIELD, value, isinstance(node, ast.YieldFrom), node.lineno + self.offset)

    def _await(self, node: ast.Await) -> Node:
        return (ir.AWAIT, self.expression(node.value), node.lineno + self.offset)

    def _starred(self, node: ast.Starred) -> Node:
        return (ir.STAR, self.expression(node.value))

    # -- functions ------------------------------------------------------------------------------

    def parameters(self, node: ast.arguments) -> Node:
        """Names and default values of a parameter list."""
        return (
            tuple([a.arg for a in (*node.posonlyargs, *node.args)]),
            tuple([self.expression(value) for value in node.defaults]),
            node.vararg.arg if node.vararg else None,
            tuple([a.arg for a in node.kwonlyargs]),
            tuple([None if value is None else self.expression(value) for value in node.kw_defaults]),
            node.kwarg.arg if node.kwarg else None,
        )

    def annotations(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[Node, ...]:
        """The annotations of a header, unless they are postponed."""
        if self.postponed:
            return ()
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        every += [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
        found = [a.annotation for a in every if a.annotation is not None]
        if node.returns is not None:
            found.append(node.returns)
        return tuple([self.expression(a) for a in found if not isinstance(a, (ast.Constant, ast.Name))])

    def code(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Node:
        """The whole function: parameters and block."""
        outer, self.yields = self.yields, False
        block = self.block(node.body)
        code = (
            self.parameters(node.args),
            block,
            self.yields,
            isinstance(node, ast.AsyncFunctionDef),
            node.name,
            node.lineno + self.offset,
            None if node.returns is None else self.annotation(node.returns),
            tuple(
                (a.arg, self.annotation(a.annotation))
                for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
                if a.annotation is not None
            ),
        )
        self.yields = outer
        return code

    def annotation(self, node: ast.expr) -> Node:
        """An annotation as an expression, the text of a quoted one included."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                quoted = ast.parse(node.value.strip(), mode="eval").body
            except (SyntaxError, ValueError, RecursionError):
                return _UNKNOWN_CONSTANT
            return Lowerer(self.offset + node.lineno - 1).expression(quoted)
        return self.expression(node)

    def decorators(self, nodes: Sequence[ast.expr]) -> tuple[tuple[Node, int], ...]:
        """Decorator expressions with their lines, outermost first."""
        return tuple([(self.expression(node), node.lineno + self.offset) for node in nodes])

    def block(self, nodes: Sequence[ast.stmt]) -> Block:
        """Lower the statements of a function body."""
        return lower_block(self, nodes)

    def target(self, node: ast.expr) -> Node:
        """Lower what an assignment assigns to."""
        if isinstance(node, ast.Name):
            return (ir.TO_NAME, node.id)
        if isinstance(node, (ast.Tuple, ast.List)):
            return (ir.TO_TUPLE, tuple([self.target(element) for element in node.elts]))
        if isinstance(node, ast.Attribute):
            return (ir.TO_ATTR, self.expression(node.value), node.attr, node.lineno + self.offset)
        if isinstance(node, ast.Subscript):
            return (
                ir.TO_INDEX,
                self.expression(node.value),
                self.expression(node.slice),
                node.lineno + self.offset,
            )
        if isinstance(node, ast.Starred):
            return (ir.TO_STAR, self.target(node.value))
        return (ir.TO_TUPLE, ())

    def operator(self, node: ast.operator) -> str:
        """The name of a binary operator, as in `__add__`."""
        return _OPERATORS[type(node)]


_EXPRESSIONS: dict[type[ast.AST], Callable[[Lowerer, Any], Node]] = {
    ast.Constant: Lowerer._constant,
    ast.Name: Lowerer._name,
    ast.Attribute: Lowerer._attribute,
    ast.Call: Lowerer._call,
    ast.IfExp: Lowerer._ifexp,
    ast.BoolOp: Lowerer._bool,
    ast.UnaryOp: Lowerer._unary,
    ast.Compare: Lowerer._compare,
    ast.List: Lowerer._sequence,
    ast.Tuple: Lowerer._sequence,
    ast.Set: Lowerer._sequence,
    ast.Dict: Lowerer._dict,
    ast.Subscript: Lowerer._subscript,
    ast.Slice: Lowerer._slice,
    ast.Lambda: Lowerer._lambda,
    ast.ListComp: Lowerer._comprehension,
    ast.SetComp: Lowerer._comprehension,
    ast.GeneratorExp: Lowerer._comprehension,
    ast.DictComp: Lowerer._comprehension,
    ast.BinOp: Lowerer._binary,
    ast.NamedExpr: Lowerer._walrus,
    ast.JoinedStr: Lowerer._joined,
    ast.Yield: Lowerer._yield,
    ast.YieldFrom: Lowerer._yield,
    ast.Await: Lowerer._await,
    ast.Starred: Lowerer._starred,
}
