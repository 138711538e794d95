"""The compact form of source that the evaluators follow: nested tuples, which marshal loads in no time.

Every node is a tuple whose first item is one of the numbers below; `FIELDS` says what the others are, and
`walk` finds the nodes inside a node by it. Lines are the file's own lines. Blocks are tuples of statements.
What cannot matter at import time has been left out by `lowering`.

The views at the end name what is read by many: `Class._make(node).binds`. Where a node is taken apart on the
spot, unpacking names its items just as well: `_, line, test, body, orelse, span = node`.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Any, NamedTuple

Node = tuple[Any, ...]
Block = tuple[Node, ...]
#: Where a text stands: line, column, last line, last column.
Span = tuple[int, int, int, int]
NO_SPAN: Span = (0, 0, 0, 0)

# -- expressions ------------------------------------------------------------------------------------
CONST = 0
NAME = 1
ATTR = 2
CALL = 3
IFEXP = 4
BOOL = 5
NOT = 6
COMPARE = 7
SEQUENCE = 8
DICT = 9
INDEX = 10
LAMBDA = 11
COMPREHENSION = 12
BINARY = 13
WALRUS = 14
JOINED = 15  # an f-string, or one formatted part of it
YIELD = 16
AWAIT = 17
STAR = 18
SLICE = 19
OTHER = 20  # evaluated for the effects of what is inside; the result is unknown
UNARY = 21

# -- statements: the line is always second ----------------------------------------------------------
EXPR = 30
ASSIGN = 31
AUGMENTED = 32
ANNOTATED = 33
IF = 34
FOR = 35
WHILE = 36
TRY = 37
WITH = 38
RETURN = 39
RAISE = 40
IMPORT = 41
FROM = 42
DEF = 43
CLASS = 44
GLOBAL = 45
NONLOCAL = 46
BREAK = 47
CONTINUE = 48
ASSERT = 49
MATCH = 50
DELETE = 51
LOADS = 52  # what annotations read
ASYNC_FOR = 53
ASYNC_WITH = 54

# -- assignment targets -----------------------------------------------------------------------------
TO_NAME = 60
TO_TUPLE = 61
TO_ATTR = 62
TO_INDEX = 63
TO_STAR = 64


class Holds(Enum):
    """What one field of a node holds."""

    PLAIN = auto()  # a constant, a name, a flag or a column: anything without nodes inside
    LINE = auto()
    SPAN = auto()
    SPANS = auto()
    EXPRESSION = auto()
    OPTIONAL = auto()  # an expression or None
    EXPRESSIONS = auto()
    OPTIONALS = auto()  # expressions, None among them
    KEYWORDS = auto()  # (name or None for **, expression), ...
    DECORATORS = auto()  # (expression, line), ..., the outermost first
    GENERATORS = auto()  # (target, iterable, ((condition, span), ...)), ...
    TARGET = auto()
    TARGETS = auto()
    BLOCK = auto()
    HANDLERS = auto()  # `Handler`s
    CASES = auto()  # `Case`s
    CONTEXTS = auto()  # (expression, target or None), ...
    HEADER = auto()  # (default values, annotations that are evaluated), or None where nothing in them matters
    CODE = auto()  # a function's `Code`, or None where the skeleton has left it out
    LAMBDA_CODE = auto()  # the `Code` of a lambda, whose default values stand nowhere else
    BINDINGS = auto()  # name -> `Binding`s; what only binds a name stands here and not in the block


def _fields(**fields: Holds) -> tuple[tuple[str, Holds], ...]:
    return tuple(fields.items())


_ONE, _MANY, _PLAIN, _LINE = Holds.EXPRESSION, Holds.EXPRESSIONS, Holds.PLAIN, Holds.LINE
_FOR = _fields(line=_LINE, target=Holds.TARGET, iterable=_ONE, body=Holds.BLOCK, orelse=Holds.BLOCK)
_WITH = _fields(line=_LINE, contexts=Holds.CONTEXTS, body=Holds.BLOCK)

#: What follows the opcode in each kind of node.
FIELDS: dict[int, tuple[tuple[str, Holds], ...]] = {
    CONST: _fields(value=_PLAIN),
    NAME: _fields(name=_PLAIN, line=_LINE),
    ATTR: _fields(object=_ONE, attribute=_PLAIN, line=_LINE),
    CALL: _fields(
        function=_ONE, positional=_MANY, keywords=Holds.KEYWORDS, line=_LINE, column=_PLAIN, end_line=_LINE
    ),
    IFEXP: _fields(test=_ONE, body=_ONE, orelse=_ONE, line=_LINE, span=Holds.SPAN),
    BOOL: _fields(is_and=_PLAIN, values=_MANY, line=_LINE, spans=Holds.SPANS),
    NOT: _fields(operand=_ONE),
    COMPARE: _fields(left=_ONE, operators=_PLAIN, comparators=_MANY),
    SEQUENCE: _fields(kind=_PLAIN, elements=_MANY),  # "list", "tuple" or "set"
    DICT: _fields(keys=Holds.OPTIONALS, values=_MANY),  # the key of ** is None
    INDEX: _fields(object=_ONE, index=_ONE, line=_LINE),
    LAMBDA: _fields(code=Holds.LAMBDA_CODE),
    # "list", "set", "dict" or "generator"; a "dict" has two elements, the key and the value
    COMPREHENSION: _fields(kind=_PLAIN, elements=_MANY, generators=Holds.GENERATORS, line=_LINE),
    BINARY: _fields(operator=_PLAIN, left=_ONE, right=_ONE, line=_LINE),
    WALRUS: _fields(name=_PLAIN, value=_ONE),
    JOINED: _fields(
        parts=_MANY, methods=_PLAIN
    ),  # the methods that write the parts, in the order they are tried
    YIELD: _fields(value=Holds.OPTIONAL, is_from=_PLAIN, line=_LINE),
    AWAIT: _fields(value=_ONE, line=_LINE),
    STAR: _fields(value=_ONE),
    SLICE: _fields(parts=_MANY),
    OTHER: _fields(parts=_MANY),
    UNARY: _fields(operator=_PLAIN, operand=_ONE),
    EXPR: _fields(line=_LINE, end_line=_LINE, value=_ONE),
    ASSIGN: _fields(line=_LINE, end_line=_LINE, targets=Holds.TARGETS, value=_ONE),
    AUGMENTED: _fields(line=_LINE, end_line=_LINE, target=Holds.TARGET, operator=_PLAIN, value=_ONE),
    ANNOTATED: _fields(
        line=_LINE, end_line=_LINE, target=Holds.TARGET, annotation=Holds.OPTIONAL, value=Holds.OPTIONAL
    ),
    IF: _fields(line=_LINE, test=_ONE, body=Holds.BLOCK, orelse=Holds.BLOCK, span=Holds.SPAN),
    FOR: _FOR,
    WHILE: _fields(line=_LINE, test=_ONE, body=Holds.BLOCK, orelse=Holds.BLOCK, span=Holds.SPAN),
    TRY: _fields(
        line=_LINE, body=Holds.BLOCK, handlers=Holds.HANDLERS, orelse=Holds.BLOCK, final=Holds.BLOCK
    ),
    WITH: _WITH,
    RETURN: _fields(line=_LINE, end_line=_LINE, value=Holds.OPTIONAL),
    RAISE: _fields(line=_LINE, value=Holds.OPTIONAL),
    IMPORT: _fields(line=_LINE, end_line=_LINE, names=_PLAIN),  # (module, alias or None), ...
    FROM: _fields(line=_LINE, end_line=_LINE, module=_PLAIN, level=_PLAIN, names=_PLAIN),
    DEF: _fields(line=_LINE, name=_PLAIN, decorators=Holds.DECORATORS, header=Holds.HEADER, code=Holds.CODE),
    CLASS: _fields(
        line=_LINE,
        name=_PLAIN,
        decorators=Holds.DECORATORS,
        bases=_MANY,
        keywords=Holds.KEYWORDS,
        body=Holds.BLOCK,
        binds=Holds.BINDINGS,
    ),
    GLOBAL: _fields(line=_LINE, names=_PLAIN),
    NONLOCAL: _fields(line=_LINE, names=_PLAIN),
    BREAK: _fields(line=_LINE),
    CONTINUE: _fields(line=_LINE),
    ASSERT: _fields(line=_LINE, test=_ONE, span=Holds.SPAN),
    MATCH: _fields(line=_LINE, subject=_ONE, cases=Holds.CASES),
    DELETE: _fields(line=_LINE, targets=_MANY),
    LOADS: _fields(line=_LINE, names=_PLAIN),  # (dotted name, its line), ...
    ASYNC_FOR: _FOR,
    ASYNC_WITH: _WITH,
    TO_NAME: _fields(name=_PLAIN),
    TO_TUPLE: _fields(targets=Holds.TARGETS),
    TO_ATTR: _fields(object=_ONE, attribute=_PLAIN, line=_LINE),
    TO_INDEX: _fields(object=_ONE, index=_ONE, line=_LINE),
    TO_STAR: _fields(target=Holds.TARGET),
}

# -- how a module or class body binds a name, and what its payload is ---------------------------------
BY_IMPORT = 0  # (module, whether it was given an alias; without one the name means the top package)
BY_FROM = 1  # (module, level, name)
BY_DEF = 2  # the DEF node
BY_CLASS = 3  # the CLASS node
BY_VALUE = 4  # an expression
BY_STATEMENT = 5  # a statement that has to be run to know
BY_TYPE = 6  # an annotation without a value

# -- guards around a binding --------------------------------------------------------------------------
WHEN = 0  # (WHEN, test, wanted, line, span)
AFTER_FAILURE = 1  # (AFTER_FAILURE, block of the try, exception types, line of the handler)


# -- views --------------------------------------------------------------------------------------------


class Parameters(NamedTuple):
    """The parameters of a function."""

    positional: tuple[str, ...]
    defaults: tuple[Node, ...]
    """The values of the last positional ones."""
    star: str | None
    keyword_only: tuple[str, ...]
    keyword_defaults: tuple[Node | None, ...]
    double_star: str | None


class Code(NamedTuple):
    """What calling a function runs."""

    parameters: Parameters
    block: Block
    is_generator: bool
    is_async: bool
    name: str
    line: int
    returns: Node | None
    """The annotation of what it returns."""
    annotations: tuple[tuple[str, Node], ...]


class Class(NamedTuple):
    """A `class` statement."""

    opcode: int
    line: int
    name: str
    decorators: tuple[tuple[Node, int], ...]
    bases: tuple[Node, ...]
    keywords: tuple[tuple[str | None, Node], ...]
    body: Block
    binds: dict[str, tuple[Node, ...]]


class Binding(NamedTuple):
    """One way in which a name of a module or class body gets its value."""

    how: int
    payload: Any
    line: int
    guards: tuple[Node, ...]


class Handler(NamedTuple):
    """An `except` clause."""

    exceptions: Node | None
    name: str | None
    block: Block
    line: int


class Case(NamedTuple):
    """A `case` clause."""

    is_wildcard: bool
    """True for `case _:` and `case name:` without a guard."""
    value: Node | None
    """What the subject is compared with, where the pattern is a value."""
    guard: Node | None
    block: Block
    names: tuple[str, ...]
    """What the pattern binds."""
    line: int


def is_name(node: Node, name: str) -> bool:
    """True for an expression that is this name alone."""
    return node[:2] == (NAME, name)


def arguments_of(call: Node) -> tuple[Node, ...]:
    """What a call hands over, by position and by name."""
    _, _, positional, keywords, *_ = call
    return (*positional, *[value for _, value in keywords])


def line_of(statement: Node) -> int:
    """The line on which a statement begins."""
    line: int = statement[1]
    return line


def code_of(raw: Node) -> Code:
    """The view of a function's code, and of its parameters."""
    parameters, block, is_generator, is_async, name, line, returns, annotations = raw
    return Code(Parameters._make(parameters), block, is_generator, is_async, name, line, returns, annotations)
