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

# -- patterns of `match` ----------------------------------------------------------------------------
CASE_VALUE = 70
CASE_CONSTANT = 71
CASE_SEQUENCE = 72
CASE_MAPPING = 73
CASE_CLASS = 74
CASE_STAR = 75
CASE_AS = 76
CASE_OR = 77


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
    PATTERN_OR_NONE = auto()
    PATTERNS = auto()
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
    CASE_VALUE: _fields(value=_ONE),
    CASE_CONSTANT: _fields(value=_PLAIN),  # None, True or False, which the subject has to be
    CASE_SEQUENCE: _fields(patterns=Holds.PATTERNS),
    # `rest` is the name that gets the other entries, or None
    CASE_MAPPING: _fields(keys=_MANY, patterns=Holds.PATTERNS, rest=_PLAIN),
