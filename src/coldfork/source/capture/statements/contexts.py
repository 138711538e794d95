"""Context managers of the checked code: what runs when a `with` is entered, and when it is left."""

from __future__ import annotations

from typing import NamedTuple

from coldfork.source.capture.calls.arguments import arguments_of, bind_arguments
from coldfork.source.capture.following import Following
from coldfork.source.capture.objects import Arguments, Env, Func, Object, Value
from coldfork.source.capture.state import Frame
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Block, Node, code_of
from coldfork.source.syntax.walk import walk
from coldfork.source.values.kinds import Const, External


class Entered(NamedTuple):
    """A context that was entered: the function in which that happened, and what runs when it is left."""

    frame: Frame | None
    behind: Block
    leaving: Func | None


def enter(f: Following, context: Node, entered: list[Entered]) -> Value:
    """What entering a context gives."""
    function = _generating(f, context)
    if function is not None:
        _, _, positional, named, *_ = context
        return _start(f, function, arguments_of(f, positional, named), entered)
    value = f.evaluate(context)
    if type(value) is not Object or value.cls is None:
        return value
    leaving = f.names.of_class(value.cls, "__exit__")
    entered.append(Entered(None, (), leaving.of(value) if isinstance(leaving, Func) else None))
    entering = f.names.of_class(value.cls, "__enter__")
    return f.call(entering.of(value), Arguments([], {}, [])) if isinstance(entering, Func) else value


def leave(f: Following, one: Entered) -> None:
    """Follow what runs when a context is left."""
    if one.leaving is not None:
        f.call(one.leaving, Arguments([Const(None)] * 3, {}, [0] * 3))
    if one.frame is not None and f.run.may_enter(one.frame.func):
        f.run.stack.append(one.frame)
        f.execute(one.behind)
        f.run.stack.pop()


def _generating(f: Following, context: Node) -> Func | None:
    """The function under `contextlib.contextmanager` that an expression calls."""
    if context[0] != nodes.CALL:
        return None
    _, callee, *_ = context
    if callee[0] not in (nodes.NAME, nodes.ATTR):
        return None
    target = f.evaluate(callee)
    return _context_manager(f, target) if type(target) is Object else None


def _context_manager(f: Following, made: Object) -> Func | None:
    """The function under `contextlib.contextmanager` that an object stands for."""
    if id(made) not in f.names.decorated:
        return None
    _, module, node, owner = f.names.decorated[id(made)]
    _, line, name, decorators, _, raw = node
    if [f.names.static(module, one) for one, _ in decorators] != [External("contextlib.contextmanager")]:
        return None
    code = code_of(raw) if raw is not None else module.code_at(line)
    return Func(module, code, name, line, None, owner) if code is not None else None


def _start(f: Following, function: Func, given: Arguments, entered: list[Entered]) -> Value:
    """Follow the function of a context manager to its `yield`."""
    if not f.run.may_enter(function):
        return f.fresh(function.name)
    before, value, behind = _parted(function.code.block)
    env = Env(function.env)
    bind_arguments(f, function, env, given)
    frame = Frame(function, env, tuple(given.values))
    f.run.stack.append(frame)
    f.execute(before)
    result = f.evaluate(value) if value is not None else Const(None)
    f.run.stack.pop()
    entered.append(Entered(frame, behind, None))
    return result


def _parted(block: Block) -> tuple[Block, Node | None, Block]:
    """What runs before the `yield`, what that gives, and what runs behind it."""
    for index, node in enumerate(block):
        before, behind = block[:index], block[index + 1 :]
        found = next((part for part in walk((node,)) if part[0] == nodes.YIELD), None)
        if found is None:
            continue
        match node:
            case (nodes.TRY, _, body, _, orelse, final):
                first, value, rest = _parted(body)
                return (*before, *first), value, (*rest, *orelse, *final, *behind)
            case (nodes.WITH, _, _, body):
                first, value, rest = _parted(body)
                return (*before, *first), value, (*rest, *behind)
        _, value, *_ = found
        return before, value, behind
    return block, None, ()
