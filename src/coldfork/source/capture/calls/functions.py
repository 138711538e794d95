"""Calls of code around and inside a capture: followed into the checked code, judged where they leave it."""

from __future__ import annotations

from coldfork.source.capture.calls import decorated, external_calls, graph_managers, known_functions, memoised
from coldfork.source.capture.calls.arguments import arguments_of, bind_arguments
from coldfork.source.capture.calls.recording import mark_escaped, record_call
from coldfork.source.capture.contents.attributes import attribute
from coldfork.source.capture.contents.containers import forget_contents
from coldfork.source.capture.contents.stores import clear
from coldfork.source.capture.contents.weak import is_alive
from coldfork.source.capture.device import device_work
from coldfork.source.capture.following import Following
from coldfork.source.capture.history import choices
from coldfork.source.capture.history.keys import give_shape, token
from coldfork.source.capture.objects import ANY, REFERENT, SOME_CALL, Arguments, Env, Func, Object, Value
from coldfork.source.capture.state import DEPENDENT, FIXED, MAYBE, Frame, Read
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node, called, is_name
from coldfork.source.syntax.quoting import text_of
from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import ClassRef, Const, External, Super


def call(f: Following, node: Node) -> Value:
    """What a call gives."""
    _, callee, positional, named, line, column, end = node
    if is_name(callee, "super"):
        return _super(f, [f.evaluate(one) for one in positional])
    receiver: Value | None = None
    method = ""
    if callee[0] == nodes.ATTR:
        _, owner, method, _ = callee
        receiver = f.evaluate(owner)
        target = attribute(f, receiver, method)
    else:
        target = f.evaluate(callee)
    given = arguments_of(f, positional, named)
    frame = f.frame
    frame.line, frame.column, frame.end = line, column, end
    if isinstance(target, External):
        return external_calls.function(f, node, target.name, given)
    if isinstance(receiver, Func) and receiver.remembers and method == "cache_clear":
        clear(f, f.names.attributes_of(receiver))
        return Const(None)
    ours = graph_managers.call(f, receiver, method, given, (line, column, end))
    if ours is not None:
        return ours
    if type(target) is Object:
        target = decorated.made_of(f, target) or target
    if isinstance(target, Func):
        if type(receiver) is Object and receiver.parts.get(method) is target:
            reads, site = [Read(receiver, method, target)], choices.here(f, text_of(callee))
            way, called_for = target.place, target
            return choices.go(f, site, way, reads, lambda: _function(f, node, called_for, given))
        return _function(f, node, target, given)
    if isinstance(target, ClassRef):
        return construct(f, target, given)
    if type(receiver) is Object and not (type(target) is Object and (target.cls or target.made_by)):
        return external_calls.method_of(f, node, receiver, method, target, given)
    return _object(f, node, target, given)


def _super(f: Following, given: list[Value]) -> Value:
    frame = f.frame
    if given:
        match given:
            case [ClassRef() as owner, Object() as instance]:
                return Super(owner, instance)
        return f.fresh("super")
    own = frame.env.own or frame.func.bound
    if frame.func.owner is None or own is None:
        return f.fresh("super")
    return Super(frame.func.owner, own)


# -- functions of ours ----------------------------------------------------------------------------------


def _function(f: Following, node: Node, func: Func, given: Arguments) -> Value:
    first = record_call(f, func.identity, node, func)
    with graph_managers.watched(f, first, closure=True):
        if func.remembers:
            return memoised.call(f, func, given, lambda: enter(f, func, given))
        return enter(f, func, given)


def enter(f: Following, func: Func, given: Arguments) -> Value:
    """Follow a call of a function of the checked code."""
    run = f.run
    if not run.may_enter(func):
        return f.fresh(func.name)
    env = Env(func.env)
    bind_arguments(f, func, env, _as_seen_inside(f, func, given))
    frame = Frame(func, env, tuple(given.values))
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


def _as_seen_inside(f: Following, func: Func, given: Arguments) -> Arguments:
    """The arguments with the object of a method first, and how much they depend on the batch over there."""
    run = f.run
    if func.bound is not None:
        levels = [own_level(f, func), *given.levels]
        given = given._replace(positional=[func.bound, *given.positional], levels=levels)
    around = run.region is None and len(run.stack) == 1
    if around or (run.region is not None and len(run.stack) == run.region.depth):
        crossing = map(_crossing, given.positional, given.levels)
        given = given._replace(levels=list(crossing))
    return given


def _that_it_is_run(f: Following, func: Func) -> tuple[Condition, ...]:
    """What has to hold for a method to be the one that its name finds."""
    if func.bound is None or func.owner is None:
        return ()
    cls = func.bound if isinstance(func.bound, ClassRef) else func.bound.cls
    if cls is None:
        assert type(func.bound) is Object
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


def _generator(f: Following, func: Func, frame: Frame) -> Value:
    """What a function with `yield` gives: what it yields was computed from what it was called with."""
    made = f.fresh(func.name, known_functions.GENERATOR)
    if frame.yields:
        made.parts[ANY] = frame.yields[-1]
    return made


def _result(f: Following, func: Func, frame: Frame) -> Value:
    if func.code.is_generator:
        return _generator(f, func, frame)
    values = [value for value, _ in frame.returns]
    if not values:
        return Const(None)
    first = values[0]
    if all(value is first or value == first for value in values):
        return first
    real = [value for value in values if value != Const(None)]
    if len(real) == 1:
        return real[0]
    return f.fresh(func.name, SOME_CALL if real == values else "")


def construct(f: Following, cls: ClassRef, given: Arguments) -> Value:
    """Make an instance of a class of the checked code."""
    made = Object(cls.name[:1].lower() + cls.name[1:], False, cls)
    found = f.names.defined(cls, "__init__")
    if found is not None:
        init = f.names.of_class(cls, "__init__")
        if isinstance(init, Func):
            region_free = f.run.runs
            enter(f, init.of(made), given)
            f.run.runs = region_free
        return made
    fields = f.names.fields(cls)
    for name, value in [*zip(fields, given.positional, strict=False), *given.keywords.items()]:
        made.parts[name] = value
    made.parts |= {f"[{index}]": value for index, value in enumerate(given.positional)}
    return made


# -- objects ---------------------------------------------------------------------------------------------


def _object(f: Following, node: Node, target: Value, given: Arguments) -> Value:
    """A call of an object: a module's `forward`, a partial function, or something unknown."""
    if type(target) is not Object:
        return f.fresh("it")
    if target.made_by == "functools.partial":
        func = target.parts.get("[0]")
        if isinstance(func, Func):
            return _function(f, node, func, _behind_partial(target, given))
    if target.cls is not None:
        for name in ("__call__", "forward"):
            method = f.names.of_class(target.cls, name)
            if isinstance(method, Func):
                first = record_call(f, ("object", target), node, target)
                with graph_managers.watched(f, first):
                    return enter(f, method.of(target), given)
    if target.made_by == "torch.nn.Sequential" and target.items():
        return _in_turn(f, node, target.items(), given)
    if target.made_by == "weakref.ref":
        referent = target.part(REFERENT)
        return referent if is_alive(f, referent) else Const(None)
    first = record_call(f, ("object", target), node, target)
    with graph_managers.watched(f, first):
        pass
    mark_escaped(f, given)
    forget_contents(given.values)
    made = f.fresh(target.name, SOME_CALL)
    give_shape(f, made, token(f, target), given.values)
    callee = called(node)
    if callee[0] == nodes.INDEX:  # kernel[grid](...)
        device_work.launched(f, node, given.values)
    else:
        device_work.of_function(f, node, f"?.{text_of(callee)}", made, given.values)
    return made


def _in_turn(f: Following, node: Node, modules: list[Value], given: Arguments) -> Value:
    """What modules give of which each is called with what the one before it gave."""
    for module in modules:
        value = _object(f, node, module, given) if type(module) is Object else f.fresh("it")
        given = Arguments([value], {}, [DEPENDENT])
    return given.positional[0]


def _behind_partial(partial: Object, given: Arguments) -> Arguments:
    """The arguments of a partial function, those that it was made with among them."""
    positional = [value for key, value in partial.parts.items() if key.startswith("[") and key != "[0]"]
    keywords = {key[:-1]: value for key, value in partial.parts.items() if key.endswith("=")}
    return given._replace(
        positional=[*positional, *given.positional],
        levels=[*[DEPENDENT] * len(positional), *given.levels],
        keywords=keywords | given.keywords,
    )
