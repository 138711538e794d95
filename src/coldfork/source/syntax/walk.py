"""The nodes inside a node: the one walker, which knows from `FIELDS` where they stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from coldfork.source.syntax.fields import FIELDS, Holds
from coldfork.source.syntax.nodes import Block, Node, code_of


def children(node: Node) -> list[Node]:
    """The nodes directly inside a node that run when it runs.

    Of a function, those are its decorators, default values and annotations: its code runs when it is called.
    """
    return [child for index, find in _FINDERS[node[0]] for child in find(node[index])]


def walk(block: Block) -> Iterator[Node]:
    """Every node that runs when a block runs, each before those inside it."""
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
