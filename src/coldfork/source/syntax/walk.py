"""The content of each kind of node, field by field, and the only function that walks over nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum, auto
from typing import Any

from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Block, Node, code_of


class Holds(Enum):
    """The content of one field of a node."""

    PLAIN = auto()  # no nodes inside: a constant, a name, a flag or a column
    LINE = auto()
    SPAN = auto()
    SPANS = auto()
    EXPRESSION = auto()
    OPTIONAL = auto()  # an expression or None
    EXPRESSIONS = auto()
    OPTIONALS = auto()  # expressions, some of which may be None
    KEYWORDS = auto()  # (name or None for **, expression), ...
    DECORATORS = auto()  # (expression, line), ..., the outermost first
    GENERATORS = auto()  # (target, iterable, ((condition, span), ...)), ...
    TARGET = auto()
    TARGETS = auto()
    PATTERN = auto()
    OPTIONAL_PATTERN = auto()
    PATTERNS = auto()
    BLOCK = auto()
    HANDLERS = auto()  # `Handler`s
    CASES = auto()  # `Case`s
    CONTEXTS = auto()  # (expression, target or None), ...
    HEADER = auto()  # (default values, evaluated annotations), or None if neither can have an effect
    PROGRAM = auto()  # statements that no import runs
    CODE = auto()  # a function's `Code`, or None if the skeleton has blanked the body
    LAMBDA_CODE = auto()  # a lambda's `Code`, the only place of its default values
    BINDINGS = auto()  # name -> `Binding`s; the block omits statements that only bind a name


def _fields(**fields: Holds) -> tuple[tuple[str, Holds], ...]:
    return tuple(fields.items())


_ONE, _MANY, _PLAIN, _LINE = Holds.EXPRESSION, Holds.EXPRESSIONS, Holds.PLAIN, Holds.LINE
_FOR = _fields(line=_LINE, target=Holds.TARGET, iterable=_ONE, body=Holds.BLOCK, orelse=Holds.BLOCK)
_WITH = _fields(line=_LINE, contexts=Holds.CONTEXTS, body=Holds.BLOCK)

#: The fields after the opcode in each kind of node.
FIELDS: dict[int, tuple[tuple[str, Holds], ...]] = {
    nodes.CONST: _fields(value=_PLAIN),
    nodes.NAME: _fields(name=_PLAIN, line=_LINE),
    nodes.ATTR: _fields(object=_ONE, attribute=_PLAIN, line=_LINE),
    nodes.CALL: _fields(
        function=_ONE, positional=_MANY, keywords=Holds.KEYWORDS, line=_LINE, column=_PLAIN, end_line=_LINE
    ),
    nodes.IFEXP: _fields(test=_ONE, body=_ONE, orelse=_ONE, line=_LINE, span=Holds.SPAN),
    nodes.BOOL: _fields(is_and=_PLAIN, values=_MANY, line=_LINE, spans=Holds.SPANS),
    nodes.NOT: _fields(operand=_ONE),
    nodes.COMPARE: _fields(left=_ONE, operators=_PLAIN, comparators=_MANY),
    nodes.SEQUENCE: _fields(kind=_PLAIN, elements=_MANY),  # "list", "tuple" or "set"
    nodes.DICT: _fields(keys=Holds.OPTIONALS, values=_MANY),  # the key of ** is None
    nodes.INDEX: _fields(object=_ONE, index=_ONE, line=_LINE),
    nodes.LAMBDA: _fields(code=Holds.LAMBDA_CODE),
    # "list", "set", "dict" or "generator"; a "dict" has a key and a value, or one unpacked element
    nodes.COMPREHENSION: _fields(kind=_PLAIN, elements=_MANY, generators=Holds.GENERATORS, line=_LINE),
    nodes.BINARY: _fields(operator=_PLAIN, left=_ONE, right=_ONE, line=_LINE),
    nodes.WALRUS: _fields(name=_PLAIN, value=_ONE),
    nodes.JOINED: _fields(parts=_MANY, methods=_PLAIN),  # the methods tried in order to format each part
    nodes.YIELD: _fields(value=Holds.OPTIONAL, is_from=_PLAIN, line=_LINE),
    nodes.AWAIT: _fields(value=_ONE, line=_LINE),
    nodes.STAR: _fields(value=_ONE),
    nodes.SLICE: _fields(parts=_MANY),
    nodes.OTHER: _fields(parts=_MANY),
    nodes.UNARY: _fields(operator=_PLAIN, operand=_ONE),
    nodes.EXPR: _fields(line=_LINE, end_line=_LINE, value=_ONE),
    nodes.ASSIGN: _fields(line=_LINE, end_line=_LINE, targets=Holds.TARGETS, value=_ONE),
    nodes.AUGMENTED: _fields(line=_LINE, end_line=_LINE, target=Holds.TARGET, operator=_PLAIN, value=_ONE),
    nodes.ANNOTATED: _fields(
        line=_LINE, end_line=_LINE, target=Holds.TARGET, annotation=Holds.OPTIONAL, value=Holds.OPTIONAL
    ),
    nodes.IF: _fields(line=_LINE, test=_ONE, body=Holds.BLOCK, orelse=Holds.BLOCK, span=Holds.SPAN),
    nodes.FOR: _FOR,
    nodes.WHILE: _fields(line=_LINE, test=_ONE, body=Holds.BLOCK, orelse=Holds.BLOCK, span=Holds.SPAN),
    nodes.TRY: _fields(
        line=_LINE, body=Holds.BLOCK, handlers=Holds.HANDLERS, orelse=Holds.BLOCK, final=Holds.BLOCK
    ),
    nodes.WITH: _WITH,
    nodes.RETURN: _fields(line=_LINE, end_line=_LINE, value=Holds.OPTIONAL),
    nodes.RAISE: _fields(line=_LINE, value=Holds.OPTIONAL, cause=Holds.OPTIONAL),
    nodes.IMPORT: _fields(line=_LINE, end_line=_LINE, names=_PLAIN),  # (module, alias or None), ...
    nodes.FROM: _fields(line=_LINE, end_line=_LINE, module=_PLAIN, level=_PLAIN, names=_PLAIN),
    # An import is lazy if declared so, or if `__lazy_modules__` names the module.
    nodes.LAZY_IMPORT: _fields(line=_LINE, end_line=_LINE, declared=_PLAIN, names=_PLAIN),
    nodes.LAZY_FROM: _fields(
        line=_LINE, end_line=_LINE, declared=_PLAIN, module=_PLAIN, level=_PLAIN, names=_PLAIN
    ),
    nodes.DEF: _fields(
        line=_LINE, name=_PLAIN, decorators=Holds.DECORATORS, header=Holds.HEADER, code=Holds.CODE
    ),
    nodes.CLASS: _fields(
        line=_LINE,
        name=_PLAIN,
        decorators=Holds.DECORATORS,
        bases=_MANY,
        keywords=Holds.KEYWORDS,
        body=Holds.BLOCK,
        binds=Holds.BINDINGS,
    ),
    nodes.GLOBAL: _fields(line=_LINE, names=_PLAIN),
    nodes.NONLOCAL: _fields(line=_LINE, names=_PLAIN),
    nodes.BREAK: _fields(line=_LINE),
    nodes.CONTINUE: _fields(line=_LINE),
    nodes.ASSERT: _fields(line=_LINE, test=_ONE, span=Holds.SPAN),
    nodes.MATCH: _fields(line=_LINE, subject=_ONE, cases=Holds.CASES),
    nodes.DELETE: _fields(line=_LINE, targets=_MANY),
    nodes.LOADS: _fields(line=_LINE, names=_PLAIN),  # (dotted name, its line), ...
    nodes.FAULT: _fields(line=_LINE, fault=_PLAIN),
    nodes.MAIN: _fields(line=_LINE, body=Holds.PROGRAM),
    nodes.ASYNC_FOR: _FOR,
    nodes.ASYNC_WITH: _WITH,
    nodes.TO_NAME: _fields(name=_PLAIN),
    nodes.TO_TUPLE: _fields(targets=Holds.TARGETS),
    nodes.TO_ATTR: _fields(object=_ONE, attribute=_PLAIN, line=_LINE),
    nodes.TO_INDEX: _fields(object=_ONE, index=_ONE, line=_LINE),
    nodes.TO_STAR: _fields(target=Holds.TARGET),
    nodes.CASE_VALUE: _fields(value=_ONE),
    nodes.CASE_CONSTANT: _fields(value=_PLAIN),
    nodes.CASE_SEQUENCE: _fields(patterns=Holds.PATTERNS),
    nodes.CASE_MAPPING: _fields(keys=_MANY, patterns=Holds.PATTERNS, rest=_PLAIN),
    nodes.CASE_CLASS: _fields(cls=_ONE, positional=Holds.PATTERNS, names=_PLAIN, named=Holds.PATTERNS),
    nodes.CASE_STAR: _fields(name=_PLAIN),
    nodes.CASE_AS: _fields(pattern=Holds.OPTIONAL_PATTERN, name=_PLAIN),
    nodes.CASE_OR: _fields(patterns=Holds.PATTERNS),
}


def children(node: Node) -> list[Node]:
    """Return the nodes directly inside a node that run when the node runs.

    For a function, these are its decorators, default values and annotations: its code runs only when it is
    called.
    """
    return [child for index, find in _FINDERS[node[0]] for child in find(node[index])]


def walk(block: Block) -> Iterator[Node]:
    """Yield every node that runs when a block runs, outer nodes first."""
    pending = list(reversed(block))
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(children(node)))


def _one(value: Node) -> Iterable[Node]:
    return (value,)


def _one_or_none(value: Node | None) -> Iterable[Node]:
    return () if value is None else (value,)


def _many(value: Block) -> Iterable[Node]:
    return value


def _some(value: tuple[Node | None, ...]) -> Iterable[Node]:
    return [node for node in value if node is not None]


def _keywords(value: tuple[tuple[str | None, Node], ...]) -> Iterable[Node]:
    return [node for _, node in value]


def _decorators(value: tuple[tuple[Node, int], ...]) -> Iterable[Node]:
    return [node for node, _ in value]


def _generators(value: tuple[tuple[Node, Node, tuple[tuple[Node, Any], ...]], ...]) -> Iterator[Node]:
    for target, iterable, conditions in value:
        yield iterable
        yield target
        yield from (condition for condition, _ in conditions)


def _handlers(value: tuple[tuple[Node | None, str | None, Block, int], ...]) -> Iterator[Node]:
    for exceptions, _name, block, _line in value:
        if exceptions is not None:
            yield exceptions
        yield from block


def _cases(value: tuple[tuple[Node, Node | None, Block, int], ...]) -> Iterator[Node]:
    for pattern, guard, block, _line in value:
        yield pattern
        if guard is not None:
            yield guard
        yield from block


def _contexts(value: tuple[tuple[Node, Node | None], ...]) -> Iterator[Node]:
    for context, target in value:
        yield context
        if target is not None:
            yield target


def _header(value: tuple[tuple[Node, ...], tuple[Node, ...]] | None) -> Iterable[Node]:
    if value is None:
        return ()
    defaults, annotations = value
    return (*defaults, *annotations)


def _lambda_defaults(value: Node) -> Iterable[Node]:
    parameters = code_of(value).parameters
    return (*parameters.defaults, *_some(parameters.keyword_defaults))


_HOLDING: dict[Holds, Callable[[Any], Iterable[Node]]] = {
    Holds.EXPRESSION: _one,
    Holds.OPTIONAL: _one_or_none,
    Holds.EXPRESSIONS: _many,
    Holds.OPTIONALS: _some,
    Holds.KEYWORDS: _keywords,
    Holds.DECORATORS: _decorators,
    Holds.GENERATORS: _generators,
    Holds.TARGET: _one,
    Holds.TARGETS: _many,
    Holds.PATTERN: _one,
    Holds.OPTIONAL_PATTERN: _one_or_none,
    Holds.PATTERNS: _many,
    Holds.BLOCK: _many,
    Holds.HANDLERS: _handlers,
    Holds.CASES: _cases,
    Holds.CONTEXTS: _contexts,
    Holds.HEADER: _header,
    Holds.LAMBDA_CODE: _lambda_defaults,
}

_FINDERS: dict[int, tuple[tuple[int, Callable[[Any], Iterable[Node]]], ...]] = {
    opcode: tuple(
        (index, _HOLDING[holds]) for index, (_, holds) in enumerate(fields, start=1) if holds in _HOLDING
    )
    for opcode, fields in FIELDS.items()
}
