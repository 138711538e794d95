"""What is initialised on first use: tests of a flag around code that sets it, and which object holds it."""

from __future__ import annotations

from typing import NamedTuple

from coldfork.model.captures import CaptureKind
from coldfork.source.capture.contents.attributes import class_place
from coldfork.source.capture.device import device_work
from coldfork.source.capture.following import Following
from coldfork.source.capture.history import choices
from coldfork.source.capture.history.keys import key_of
from coldfork.source.capture.objects import Env, First, Func, Object, Spared, Value, Work
from coldfork.source.capture.state import FIXED, MAYBE, Choice, Leftover
from coldfork.source.capture.statements.branches import either
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Block, Node, is_name
from coldfork.source.syntax.quoting import text_of
from coldfork.source.syntax.walk import walk
from coldfork.source.values.conditions import Condition, negated
from coldfork.source.values.kinds import ClassRef, Const, ModuleRef

#: An object, its attribute or item, and how the source writes it.
Access = tuple[Object, str, str]
_FILLING = frozenset({"append", "add", "update", "setdefault", "extend", "insert"})
#: The key that stands for whether a container holds anything.
_FILLED = "[]"
#: The work of a first run that does none.
_NOTHING = Work(FIXED, "", Object("", False), Object("", False))
#: What a flag is compared with.
_UNSET = ((nodes.CONST, None), (nodes.CONST, False), (nodes.CONST, 0))


class Lazy(NamedTuple):
    """A test of a flag, what runs when it is not set, and what runs when it is."""

    access: Access
    first: Block
    later: Block
    behind: Block
    """What runs in either case, when the first run is all that follows the test."""
    rest: bool
    """True when the first run is what follows an early return."""
    conditions: tuple[Condition, ...]


# -- recognising ----------------------------------------------------------------------------------------


def recognise(f: Following, node: Node, rest: Block) -> Lazy | None:
    """The lazy initialisation that an `if` begins, if it is one."""
    _, _, test, body, orelse, _ = node
    unset = _unset(f, test)
    if unset is not None:
        flag, conditions = unset
        if _sets(f, body, flag):
            return Lazy(flag, body, orelse, (), False, conditions)
    if not orelse and body and body[-1][0] == nodes.RETURN:
        done = _set(f, test)
        if done is not None and rest and _sets(f, rest, done):
            return Lazy(done, rest, body, (), True, ())
    return None


def _unset(f: Following, test: Node) -> tuple[Access, tuple[Condition, ...]] | None:
    """The flag that is not set when the test holds, and what else has to hold."""
    opcode = test[0]
    if opcode == nodes.NOT:
        _, operand = test
        found = _set(f, operand)
        return (found, ()) if found is not None else None
    comparison = _single_comparison(test)
    if comparison is not None:
        left, operator, right = comparison
        if operator in ("is", "==") and right in _UNSET:
            found = access(f, left)
            return (found, ()) if found is not None else None
        if operator == "not in":
            found = _item(f, right, left)
            return (found, ()) if found is not None else None
    if opcode == nodes.BOOL:
        _, is_and, values, _, spans = test
        for index, value in enumerate(values):
            inner = _unset(f, value)
            if inner is not None:
                others = [span for place, span in enumerate(spans) if place != index] if is_and else []
                flag, conditions = inner
                return flag, (*conditions, *(f.condition(span) for span in others))
    return None


def _single_comparison(test: Node) -> tuple[Node, str, Node] | None:
    """The left side, the operator and the right side of a comparison that is not a chain."""
    if test[0] != nodes.COMPARE:
        return None
    _, left, operators, comparators = test
    return (left, operators[0], comparators[0]) if len(operators) == 1 else None


def _set(f: Following, test: Node) -> Access | None:
    """The flag that is set when the test holds."""
    comparison = _single_comparison(test)
    if comparison is not None:
        left, operator, right = comparison
        if operator in ("is not", "!=") and right == (nodes.CONST, None):
            return access(f, left)
        return _item(f, right, left) if operator == "in" else None
    return access(f, test)


def _item(f: Following, node: Node, key: Node) -> Access | None:
    """The item of a container that an expression names, if it can outlive a run."""
    if node[0] not in (nodes.NAME, nodes.ATTR):
        return None
    value = f.evaluate(node)
    return (value, key_of(f, f.evaluate(key)), text_of(node)) if type(value) is Object else None


def access(f: Following, node: Node) -> Access | None:
    """Of which object an expression asks for which attribute."""
    opcode = node[0]
    if opcode == nodes.ATTR:
        _, owner, name, _ = node
        place = attribute_of(f, owner, name)
        return (*place, text_of(node)) if place is not None else None
    if opcode == nodes.INDEX:
        _, container, key, _ = node
        return _item(f, container, key)
    if opcode == nodes.WALRUS:
        _, _, expression = node
        return access(f, expression)
    if opcode == nodes.NAME:
        _, name, _ = node
        return _named(f, name)
    return _asked_for(f, node) if opcode == nodes.CALL else None


def _asked_for(f: Following, call: Node) -> Access | None:
    """What `hasattr(object, "name")`, `getattr(object, "name")` or `container.get(key)` asks for."""
    _, callee, arguments, *_ = call
    if is_name(callee, "hasattr") or is_name(callee, "getattr"):
        match arguments:
            case (owner, (nodes.CONST, str(name)), *_):
                place = attribute_of(f, owner, name)
                return (*place, f"{text_of(owner)}.{name}") if place is not None else None
    if callee[0] == nodes.ATTR and arguments:
        _, container, method, _ = callee
        if method == "get":
            return _item(f, container, arguments[0])
    return None


def attribute_of(f: Following, node: Node, name: str) -> tuple[Object, str] | None:
    """The object that holds an attribute, and under which key."""
    owner = f.evaluate(node)
    if isinstance(owner, ModuleRef):
        module = f.names.module(owner.name)
        return (f.names.globals_of(module), name) if module is not None else None
    if isinstance(owner, ClassRef):
        return class_place(f, owner, name) or (f.names.globals_of(owner.module), f"{owner.name}.{name}")
    if isinstance(owner, Func):
        return f.names.attributes_of(owner), name
    return (owner, name) if type(owner) is Object else None


def _named(f: Following, name: str) -> Access | None:
    if name in f.frame.aliases:
        return f.frame.aliases[name]
    env = f.frame.env.holder(name)
    module = f.frame.func.module
    if env is None or name in f.frame.env.globals:
        known = name in module.summary.binds
        return (f.names.globals_of(module), name, name) if known else None
    value = env.names[name]
    return (value, _FILLED, name) if type(value) is Object and env is not f.frame.env else None


def _sets(f: Following, block: Block, wanted: Access, depth: int = 0) -> bool:
    """True when the statements set the flag, themselves or in a method that they call."""
    _, key, text = wanted
    last = text.rpartition(".")[2]
    for node in walk(block):
        match node:
            case (nodes.TO_ATTR, _, name, _) if name == key.rpartition(".")[2]:
                return True
            case (nodes.TO_NAME, name) if name == key and key in f.frame.env.globals:
                return True
            case (nodes.TO_INDEX, owner, _, _) if key.startswith("[") and text_of(owner).endswith(last):
                return True
            case (nodes.CALL, *_) if _fills(f, node, wanted, depth):
                return True
    return False


def _fills(f: Following, call: Node, wanted: Access, depth: int) -> bool:
    _, key, text = wanted
    _, callee, arguments, *_ = call
    if is_name(callee, "setattr") and len(arguments) > 1:
        return bool(arguments[1] == (nodes.CONST, key))
    if callee[0] != nodes.ATTR:
        return False
    _, receiver, name, _ = callee
    if key.startswith("["):
        return name in _FILLING and text_of(receiver) == text
    owner = f.frame.func.owner
    if depth or owner is None or receiver[0] != nodes.NAME or f.evaluate(receiver) is not f.frame.env.own:
        return False
    method = f.names.of_class(owner, name)
    return isinstance(method, Func) and _sets(f, method.code.block, wanted, depth + 1)


# -- following ------------------------------------------------------------------------------------------


def follow(f: Following, lazy: Lazy, runs: bool | None) -> bool:
    """Follow a lazy initialisation, which `runs` if that is known; True when nothing behind it is reached."""
    owner, key, _ = lazy.access
    first = owner.done.get(key)
    if first is not None and runs:
        return f.execute(lazy.first) or lazy.rest
    if first is None:
        spared = owner.spared.pop(key, None)
        if spared is not None and f.run.region is not None:
            return _perhaps_left_out(f, lazy, spared)
        if _known_set(owner, key):
            return f.execute(lazy.later)
        return _initialise(f, lazy)
    if first.captured:
        return f.execute(lazy.later)
    if f.run.region is not None:
        _left_out(f, lazy, first)
    elif first.runs < f.run.runs and first.level >= MAYBE:
        value = owner.parts.get(key)
        kept = owner if key.startswith("[") or type(value) is not Object else value
        envs = tuple(frame.env for frame in f.run.stack)
        f.run.leftovers.append(Leftover(kept, first, f.run.steps(), lazy.access[2], envs))
    return f.execute(lazy.later)


def is_met(lazy: Lazy) -> bool:
    """True when the first run has been followed, or when it fills a container from around."""
    owner, key, _ = lazy.access
    return key in owner.done or key == _FILLED


def _known_set(owner: Object, key: str) -> bool:
    """True when the flag was seen to be set before, outside any lazy initialisation."""
    if key not in owner.given:
        return False
    value = owner.parts[key]
    return not (isinstance(value, Const) and not value.value)


def _initialise(f: Following, lazy: Lazy) -> bool:
    """The first run."""
    owner, key, text = lazy.access
    frame = f.frame
    unset = (
        key in owner.given or key in owner.gone or owner.keys == ()
    )  # and not to anything that is true, or this would not be the first run
    line, outer = frame.line, frame.conditions
    heard: list[Work] = []
    around = [owner, f.names.globals_of(frame.func.module), *_visible(frame.env)]
    f.run.listeners.append(heard)
    f.run.lazily.append((owner, key))
    frame.conditions = (*outer, *lazy.conditions)
    steps = f.run.steps()
    captured = f.run.region is not None
    begun = f.run.begun
    conditions = f.run.conditions()
    left = f.execute(lazy.first)
    frame.conditions = outer
    f.run.lazily.pop()
    f.run.listeners.pop()
    works = tuple(work for work in device_work.kept(heard, around) if work.level >= MAYBE)
    if f.run.begun != begun:
        works = ()  # to capture a graph is done once
    most = max(works, key=lambda work: work.level, default=_NOTHING)
    level = most.level
    known = any(one != key for one in owner.done) and key.startswith("[")
    owner.done[key] = First(
        frame.func.module.name, line, level, most.text, f.run.runs, captured, conditions, works
    )
    if captured and works and not (unset or known) and _outlives(f, owner):
        extra = (Condition(words=f"{text} was set before the capture"), *choices.of_data(level, most.text))
        sink = f"{text}, set on the first run only"
        f.run.observe(CaptureKind.INITIALISES_LAZILY, text, sink, extra, steps=steps)
    return left if not lazy.rest else True


def _visible(env: Env) -> list[Value]:
    """What a function can see: its own names and those around it."""
    return [value for one in env.outwards() for value in one.names.values()]


def _left_out(f: Following, lazy: Lazy, first: First, condition: Condition | None = None) -> None:
    """What the warm-up initialised is met again in the capture, which leaves the work out."""
    owner, _, text = lazy.access
    if first.works:
        site = choices.Site(first.module, first.line, text)
        conditions = (*lazy.conditions, *first.conditions)
        choices.leave_out(f, site, Choice(None, (), first.works, conditions), owner, condition)


def _perhaps_left_out(f: Following, lazy: Lazy, spared: Spared) -> bool:
    """The capture does the work, or leaves it out where nothing was set anew before."""
    owner, key, text = lazy.access
    negative = negated(spared.unless[0]) if len(spared.unless) == 1 else None
    _left_out(f, lazy, spared.first, negative or Condition(words=f"{text} is not set anew"))
    left = _initialise(f, lazy)
    values = [one for one in (spared.value, owner.parts.get(key)) if one is not None]
    owner.parts[key] = either(f, text.rpartition(".")[2], values)
    return left


def _outlives(f: Following, owner: Object) -> bool:
    """True when the object is sure to be the same in every run: part of the capturing object, or global."""
    root = f.run.stack[0]
    if root.env.own is not None and root.env.own.before and root.env.own.holds(owner):
        return True
    return any(f.names.globals_of(frame.func.module).holds(owner) for frame in f.run.stack)
