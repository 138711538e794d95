"""Calls of code around and inside a capture: followed into the checked code, judged where they leave it."""

from __future__ import annotations

from coldfork.source.capture import external_calls, graph_managers
from coldfork.source.capture.attributes import attribute
from coldfork.source.capture.device import device_work
from coldfork.source.capture.following import Following
from coldfork.source.capture.objects import (
    SOME_CALL,
    Above,
    ClassDef,
    Constant,
    Env,
    Func,
    Object,
    Outside,
    Value,
)
from coldfork.source.capture.recording import mark_escaped, record_call
from coldfork.source.capture.state import DEPENDENT, FIXED, MAYBE, Frame
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node
from coldfork.source.syntax.quoting import text_of
from coldfork.source.values.conditions import Condition


def call(f: Following, node: Node) -> Value:
    """What a call gives."""
    _, callee, positional, named, line, column, end = node
    if callee[0] == nodes.NAME and callee[1] == "super" and not positional:
        return _super(f)
    receiver: Value | None = None
    method = ""
    if callee[0] == nodes.ATTR:
        receiver, method = f.evaluate(callee[1]), callee[2]
        target = attribute(f, receiver, method)
    else:
        target = f.evaluate(callee)
    arguments = [f.evaluate(one) for one in positional]
    keywords = {name: f.evaluate(value) for name, value in named if name is not None}
    for name, value in named:
        if name is None:
            f.evaluate(value)
    frame = f.frame
    frame.line, frame.column, frame.end = line, column, end
    if isinstance(target, Outside):
        return external_calls.function(f, node, target.name, arguments, keywords)
    levels = [f.level(one) for one in positional]
    ours = graph_managers.call(f, receiver, method, arguments, keywords, (line, column, end))
    if ours is not None:
        return ours
    if isinstance(target, Func):
        return _function(f, node, target, arguments, keywords, levels)
    if isinstance(target, ClassDef):
        return construct(f, target, arguments, keywords, levels)
    if type(receiver) is Object and not (type(target) is Object and (target.cls or target.made_by)):
        return external_calls.method_of(f, node, receiver, method, target, arguments, keywords)
    return _object(f, node, target, arguments, keywords, levels)


def _super(f: Following) -> Value:
    frame = f.frame
    own = frame.env.own
    if frame.func.owner is None or own is None:
        return f.fresh("super")
    return Above(frame.func.owner, own)


# -- functions of ours ----------------------------------------------------------------------------------


def _function(
    f: Following,
    node: Node,
    func: Func,
    arguments: list[Value],
    keywords: dict[str, Value],
    levels: list[int],
) -> Value:
    first = record_call(f, ("function", *func.place, func.bound), node, func)
    with graph_managers.watched(f, first, closure=True):
        return enter(f, func, arguments, keywords, [*levels])


def enter(
    f: Following, func: Func, arguments: list[Value], keywords: dict[str, Value], levels: list[int]
) -> Value:
    """Follow a call of a function of the checked code."""
    run = f.run
    if not run.may_enter(func):
        return f.fresh(func.name)
    env = Env(func.env)
    values = [func.bound, *arguments] if func.bound is not None else list(arguments)
    inside = run.region is not None or len(run.stack) > 1
    given = [own_level(f, func), *levels] if func.bound is not None else list(levels)
    if not inside or (run.region is not None and len(run.stack) == run.region.depth):
        given = [
            _crossing(value, level)
            for value, level in zip(values, [*given, *[FIXED] * len(values)], strict=False)
        ]
    _bind(f, func, env, values, given, keywords)
    frame = Frame(func, env, (*arguments, *keywords.values()))
    frame.conditions = _that_it_is_run(f, func)
    run.stack.append(frame)
    run.followed.add(func.place)
    try:
        f.execute(func.code.block)
    finally:
        run.stack.pop()
    if run.region is None:
        run.runs += 1
    return _result(f, func, frame)


def _that_it_is_run(f: Following, func: Func) -> tuple[Condition, ...]:
    """What has to hold for a method to be the one that its name finds."""
    if func.bound is None or func.owner is None:
        return ()
    cls = func.bound.cls
    if cls is None:
        return (Condition(words=f"{func.bound.name} is of class {func.owner.name}"),)
    if f.names.may_be_overridden(cls, func.owner):
        words = f"{func.name} of {cls.name} is the one of {func.owner.name}"
        return (Condition(words=words),)
    return ()


def own_level(f: Following, func: Func) -> int:
    """How much the object of a method depends on the batch: that of what was handed in does."""
    for frame in reversed(f.run.stack[1:]):
        for name, value in frame.env.names.items():
            if value is func.bound and frame.env.own is not value:
                return max(frame.env.levels.get(name, MAYBE), MAYBE)
    return MAYBE


def _crossing(value: Value | None, level: int) -> int:
    """What is handed to the code that is captured holds another batch each time."""
    if type(value) is Object and level != MAYBE:
        return DEPENDENT
    return level if type(value) is Object else FIXED


def _bind(
    f: Following, func: Func, env: Env, values: list[Value], levels: list[int], keywords: dict[str, Value]
) -> None:
    """Bind parameters to arguments, and to defaults where there are none."""
    names, defaults, star, keyword_only, keyword_defaults, stars = func.code.parameters
    annotated = dict(func.code.annotations)
    standing = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
    standing |= {n: d for n, d in zip(keyword_only, keyword_defaults, strict=True) if d is not None}
    for index, name in enumerate((*names, *keyword_only)):
        if index < len(values) and index < len(names):
            env.names[name] = values[index]
            env.levels[name] = levels[index] if index < len(levels) else FIXED
        elif name in keywords:
            env.names[name] = keywords[name]
            env.levels[name] = DEPENDENT if type(keywords[name]) is Object else FIXED
        elif name in standing:
            default = standing[name]
            env.names[name] = Constant(default[1]) if default[0] == nodes.CONST else f.fresh(name)
        else:
            env.names[name] = f.fresh(name)
            env.levels[name] = DEPENDENT
        value = env.names[name]
        if (
            type(value) is Object
            and value.tensor is None
            and value.cls is None
            and value.made_by in ("", SOME_CALL)
        ):
            f.annotate(func.module, annotated.get(name), value)
    if star is not None:
        rest = f.fresh(star)
        rest.parts |= {f"[{index}]": value for index, value in enumerate(values[len(names) :])}
        env.names[star], env.levels[star] = rest, max(levels[len(names) :], default=FIXED)
    if stars is not None:
        env.names[stars], env.levels[stars] = f.fresh(stars), DEPENDENT
    if func.bound is not None and names:
        env.own = func.bound


def _result(f: Following, func: Func, frame: Frame) -> Value:
    values = [value for value, _ in frame.returns]
    if not values:
        return Constant(None)
    first = values[0]
    if all(value is first or value == first for value in values):
        return first
    real = [value for value in values if value != Constant(None)]
    if len(real) == 1:
        return real[0]
    return f.fresh(func.name, SOME_CALL if real == values else "")


def construct(
    f: Following, cls: ClassDef, arguments: list[Value], keywords: dict[str, Value], levels: list[int]
) -> Value:
    """Make an instance of a class of the checked code."""
    made = Object(cls.name[:1].lower() + cls.name[1:], False, cls)
    found = f.names.defined(cls, "__init__")
    if found is not None:
        init = f.names.of_class(cls, "__init__")
        if isinstance(init, Func):
            region_free = f.run.runs
            enter(f, init.of(made), arguments, keywords, levels)
            f.run.runs = region_free
        return made
    fields = f.names.fields(cls)
    for name, value in [*zip(fields, arguments, strict=False), *keywords.items()]:
        made.parts[name] = value
    made.parts |= {f"[{index}]": value for index, value in enumerate(arguments)}
    return made


# -- objects ---------------------------------------------------------------------------------------------


def _object(
    f: Following,
    node: Node,
    target: Value,
    arguments: list[Value],
    keywords: dict[str, Value],
    levels: list[int],
) -> Value:
    """A call of an object: a module's `forward`, a partial function, or something unknown."""
    if type(target) is not Object:
        return f.fresh("it")
    if target.made_by == "functools.partial" and "[0]" in target.parts:
        func, *bound = target.parts.values()
        if isinstance(func, Func):
            return _function(
                f, node, func, [*bound, *arguments], keywords, [*[DEPENDENT] * len(bound), *levels]
            )
    if target.cls is not None:
        for name in ("__call__", "forward"):
            method = f.names.of_class(target.cls, name)
            if isinstance(method, Func):
                first = record_call(f, ("object", target), node, target)
                with graph_managers.watched(f, first):
                    return enter(f, method.of(target), arguments, keywords, levels)
    first = record_call(f, ("object", target), node, target)
    with graph_managers.watched(f, first):
        pass
    mark_escaped(f, arguments, keywords)
    made = f.fresh(target.name, SOME_CALL)
    if f.run.listeners:
        if node[1][0] == nodes.INDEX:  # kernel[grid](...)
            device_work.launched(f, node, [*arguments, *keywords.values()])
        else:
            device_work.of_function(f, node, f"?.{text_of(node[1])}", made, arguments)
    return made
