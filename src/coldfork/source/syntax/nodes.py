"""The compact form of source that the evaluators follow: nested tuples, which `marshal` loads quickly.

Every node is a tuple whose first item is one of the numbers below; `walk.FIELDS` describes the other items.
Lines are the file's own lines. Blocks are tuples of statements. Anything that cannot matter at import time
has been left out by `lowering`.

The named tuples at the end give names to fields that are read in many places: `Class._make(node).binds`.
Elsewhere nodes are unpacked: `_, line, test, body, orelse, span = node`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

Node = tuple[Any, ...]
Block = tuple[Node, ...]
#: The position of a text: first line, column, last line, last column.
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
OTHER = 20  # the result is unknown: evaluated only for the effects of its parts
UNARY = 21

# -- statements: their first field is the line -------------------------------------------------------
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
LOADS = 52  # the dotted names that annotations read
ASYNC_FOR = 53
ASYNC_WITH = 54
LAZY_IMPORT = 55  # from Python 3.15 on: binds a name; the first use of the name runs the import
LAZY_FROM = 56
FAULT = 57  # a statement that coldfork failed to read
MAIN = 58  # runs only if the module is the program: `if __name__ == "__main__"`

# -- assignment targets -----------------------------------------------------------------------------
TO_NAME = 60
TO_TUPLE = 61
TO_ATTR = 62
TO_INDEX = 63
TO_STAR = 64

# -- patterns of `match` ----------------------------------------------------------------------------
CASE_VALUE = 70
CASE_CONSTANT = 71  # the subject is None, True or False
CASE_SEQUENCE = 72
CASE_MAPPING = 73
CASE_CLASS = 74
CASE_STAR = 75  # `*rest`, the other items of a sequence
CASE_AS = 76  # the pattern `_` has no name
CASE_OR = 77

# -- how a module or class body binds a name, each with the content of its payload -------------------
BY_IMPORT = 0  # (module, whether there is an alias; if not, the name is the top package's)
BY_FROM = 1  # (module, level, name)
BY_DEF = 2  # the DEF node
BY_CLASS = 3  # the CLASS node
BY_VALUE = 4  # an expression
BY_STATEMENT = 5  # a statement that has to run to bind the value
BY_TYPE = 6  # an annotation without a value
BY_LAZY_IMPORT = 7  # (module, whether there is an alias, declared, line)
BY_LAZY_FROM = 8  # (module, level, name, declared, line)

# -- guards around a binding --------------------------------------------------------------------------
WHEN = 0  # (WHEN, test, wanted, line, span)
AFTER_FAILURE = 1  # (AFTER_FAILURE, block of the try, exception types, line of the handler)

#: Methods of command line parsers, which end the program if the command line is invalid.
PARSING = frozenset({"parse_args", "parse_args_into_dataclasses"})


# -- named tuples for nodes ---------------------------------------------------------------------------


class Parameters(NamedTuple):
    """The parameters of a function."""

    positional: tuple[str, ...]
    defaults: tuple[Node, ...]
    """The default values of the last positional parameters."""
    star: str | None
    keyword_only: tuple[str, ...]
    keyword_defaults: tuple[Node | None, ...]
    double_star: str | None
    positional_only: int = 0
    """The number of positional parameters that cannot be passed by name."""


NO_PARAMETERS = Parameters((), (), None, (), (), None)


class Code(NamedTuple):
    """The code that runs when a function is called."""

    parameters: Parameters
    block: Block
    is_generator: bool
    is_async: bool
    name: str
    line: int
    returns: Node | None
    """The annotation of the function's result."""
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
    """One way in which a module or class body binds a name."""

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

    pattern: Node
    guard: Node | None
    block: Block
    line: int


def last_name(node: Node) -> str | None:
    """Return the last part of a name or dotted name; None for any other expression."""
    if node[0] == NAME:
        _, name, _ = node
    elif node[0] == ATTR:
        _, _, name, _ = node
    else:
        return None
    return str(name)


def place_of(call: Node) -> tuple[int, int, int]:
    """Return the line and the column where a call begins, and the line where it ends."""
    _, _, _, _, line, column, end_line = call
    return line, column, end_line


def called(node: Node) -> Node:
    """Return the name of a decorator or base; for a call such as `@decorator(...)`, that of the called
    function.
    """
    if node[0] != CALL:
        return node
    _, function, *_ = node
    named: Node = function
    return named


def decorators_of(definition: Node) -> tuple[tuple[Node, int], ...]:
    """Return the decorators of a DEF or CLASS node with their lines, outermost first."""
    _, _, _, decorators, *_ = definition
    found: tuple[tuple[Node, int], ...] = decorators
    return found


def text_constant(node: Node) -> str | None:
    """Return the text of an expression that is a constant text; None for any other expression."""
    if node[0] != CONST:
        return None
    _, value = node
    return value if isinstance(value, str) else None


def last_line(span: Span) -> int:
    """Return the line where a span of text ends."""
    _, _, line, _ = span
    return line


def line_of(statement: Node) -> int:
    """Return the line where a statement begins."""
    line: int = statement[1]
    return line


def code_of(raw: Node) -> Code:
    """Return a function's code, and its parameters, as named tuples."""
    parameters, block, is_generator, is_async, name, line, returns, annotations = raw
    return Code(Parameters._make(parameters), block, is_generator, is_async, name, line, returns, annotations)
