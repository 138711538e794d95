"""The compact form of source that the evaluator runs: nested tuples, which marshal loads in no time.

Every node is a tuple whose first item is one of the numbers below. Lines are the file's own lines.
Blocks are tuples of statements. What cannot matter at import time has been left out by `lowering`.
"""

from __future__ import annotations

from typing import Any

Node = tuple[Any, ...]
Block = tuple[Node, ...]
#: Where a text stands: line, column, last line, last column.
Span = tuple[int, int, int, int]

# -- expressions ------------------------------------------------------------------------------------
CONST = 0  # value
NAME = 1  # identifier, line
ATTR = 2  # object, attribute, line
CALL = 3  # function, positional, keywords ((name or None, value), ...), line, column, end line
IFEXP = 4  # test, body, orelse, line, span
BOOL = 5  # is_and, values, line, spans
NOT = 6  # operand
COMPARE = 7  # left, operators, comparators
SEQUENCE = 8  # "list" | "tuple" | "set", elements
DICT = 9  # keys (None for **), values
INDEX = 10  # object, index, line
LAMBDA = 11  # code
COMPREHENSION = 12  # "list" | "set" | "dict" | "generator", elements, generators, line, spans of conditions
BINARY = 13  # operator name, left, right, line
WALRUS = 14  # identifier, value
JOINED = 15  # parts of an f-string
YIELD = 16  # value or None, is_from, line
AWAIT = 17  # value, line
STAR = 18  # value
SLICE = 19  # parts
OTHER = 20  # sub-expressions, evaluated for their effects; the result is unknown
UNARY = 21  # operator name, operand

# -- statements: the line is always second ----------------------------------------------------------
EXPR = 30  # line, end line, value
ASSIGN = 31  # line, end line, targets, value
AUGMENTED = 32  # line, end line, target, operator name, value
ANNOTATED = 33  # line, end line, target, annotation or None, value or None
IF = 34  # line, test, body, orelse, span
FOR = 35  # line, target, iterable, body, orelse
WHILE = 36  # line, test, body, orelse, span
TRY = 37  # line, body, handlers ((type, name, block, line), ...), orelse, final
WITH = 38  # line, items ((context, target), ...), body
RETURN = 39  # line, end line, value or None
RAISE = 40  # line, value or None
IMPORT = 41  # line, end line, ((module, alias), ...)
FROM = 42  # line, end line, module, level, ((name, alias), ...)
DEF = 43  # line, name, decorators ((expression, line), ...), header or None, code or None
CLASS = 44  # line, name, decorators, bases, keywords, body, binds
GLOBAL = 45  # line, names
NONLOCAL = 46  # line, names
BREAK = 47  # line
CONTINUE = 48  # line
ASSERT = 49  # line, test, span
MATCH = 50  # line, subject, ((pattern, guard or None, block, line), ...)
DELETE = 51  # line, targets
LOADS = 52  # line, dotted names read by annotations, with their lines
ASYNC_FOR = 53  # as FOR
ASYNC_WITH = 54  # as WITH

# -- assignment targets -----------------------------------------------------------------------------
TO_NAME = 60  # identifier
TO_TUPLE = 61  # targets
TO_ATTR = 62  # object, attribute, line
TO_INDEX = 63  # object, index, line
TO_STAR = 64  # target

# -- patterns of `match` ----------------------------------------------------------------------------
CASE_VALUE = 70  # expression that the subject has to equal
CASE_CONSTANT = 71  # None, True or False, which the subject has to be
CASE_SEQUENCE = 72  # patterns
CASE_MAPPING = 73  # keys, their patterns, name that gets the rest or None
CASE_CLASS = 74  # class, positional patterns, attribute names, their patterns
CASE_STAR = 75  # name or None: the rest of a sequence
CASE_AS = 76  # pattern or None, name or None: `_` has neither
CASE_OR = 77  # patterns

# -- code of a function: (parameters, block, is_generator, is_async, name, line, return annotation or None,
#    ((parameter, annotation), ...))
# -- parameters: (positional names, defaults aligned to the right, *name, keyword-only names, their defaults,
#    **name)

# -- bindings of a module or class body, by name: tuples of (how, payload, line, guards)
BY_IMPORT = 0  # module, or the top package when no alias was given
BY_FROM = 1  # (module, level, name)
BY_DEF = 2  # the DEF node
BY_CLASS = 3  # the CLASS node
BY_VALUE = 4  # an expression
BY_STATEMENT = 5  # a statement that has to be run to know
BY_TYPE = 6  # an annotation without a value

# -- guards around a binding
WHEN = 0  # (WHEN, test, wanted, line, span)
AFTER_FAILURE = 1  # (AFTER_FAILURE, block of the try, exception types, line of the handler)

NO_SPAN: Span = (0, 0, 0, 0)
