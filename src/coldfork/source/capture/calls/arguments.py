"""Arguments of calls in code around and inside a capture, and the parameters that get them."""

from __future__ import annotations

from coldfork.source.capture.contents.containers import collected
from coldfork.source.capture.following import Following
from coldfork.source.capture.objects import SOME_CALL, Arguments, Env, Func, Object, Value
from coldfork.source.capture.state import DEPENDENT, FIXED
from coldfork.source.semantics.argument_binding import bind
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node
from coldfork.source.syntax.walk import walk


def arguments_of(
    f: Following, positional: tuple[Node, ...], named: tuple[tuple[str | None, Node], ...]
) -> Arguments:
    """Evaluate the arguments of a call, and take apart what `*` and `**` bring as far as it is known."""
    given = Arguments([], {}, [])
    spread: list[Value] = []
    options: list[Value] = []
    for node in positional:
        value, level = f.evaluate(node), f.level(node)
        items = value.elements() if node[0] == nodes.STAR and type(value) is Object else None
        if spread or (node[0] == nodes.STAR and items is None):
            spread += [value] if items is None else items
            continue
        items = [value] if items is None else items
        given.positional.extend(items)
        given.levels.extend([level] * len(items))
    for name, node in named:
        value = f.evaluate(node)
        entries = value.entries() if name is None and type(value) is Object else None
        if name is not None:
            given.keywords[name] = value
        elif entries is not None:
            given.keywords.update(entries)
        else:
            options.append(value)
    return given._replace(spread=tuple(spread), options=tuple(options))


def bind_arguments(f: Following, func: Func, env: Env, given: Arguments) -> None:
    """Bind parameters to arguments, and to defaults where there are none."""
    parameters = func.code.parameters
    levels = dict(zip(parameters.positional, given.levels, strict=False))
    bound = bind(parameters, given.positional, given.keywords, bool(given.spread), bool(given.options))
    for name, value in bound.given.items():
        env.names[name] = value
        env.levels[name] = levels.get(name, DEPENDENT if type(value) is Object else FIXED)
    for name, default in bound.defaults.items():
        env.names[name] = _default(f, func, name, default) or f.fresh(name)
    for name in bound.unknown:
        env.names[name] = f.fresh(name)
        env.levels[name] = DEPENDENT
    _annotate(f, func, env)
    if parameters.star is not None:
        rest = given.levels[len(parameters.positional) :]
        more = collected(f, parameters.star, "tuple", [*bound.more_positional], not given.spread)
        env.names[parameters.star], env.levels[parameters.star] = more, max(rest, default=FIXED)
    if parameters.double_star is not None:
        more = collected(f, parameters.double_star, "dict", bound.more_keywords, not given.options)
        env.names[parameters.double_star], env.levels[parameters.double_star] = more, DEPENDENT
    if type(func.bound) is Object and parameters.positional:
        env.own = func.bound


def _default(f: Following, func: Func, name: str, node: Node) -> Value | None:
    """What a parameter holds that the call leaves alone, if that is the same at any time."""
    match node:
        case (nodes.DICT, *_):
            return _kept_default(f, func, name, "dict")
        case (nodes.SEQUENCE, ("list" | "set") as kind, _):
            return _kept_default(f, func, name, kind)
    parts = list(walk((node,)))
    if all(_is_constant(part) for part in parts):
        return f.evaluate(node)
    names = {name for opcode, name, *_ in parts if opcode == nodes.NAME}
    of_class = func.owner is not None and not names.isdisjoint(func.owner.binds)
    of_function = any(not names.isdisjoint(env.names) for env in func.around())
    return None if of_class or of_function else f.names.static(func.module, node)


def _kept_default(f: Following, func: Func, name: str, kind: str) -> Object:
    """A container that is made once, where the function is defined."""
    held = f.names.attributes_of(func).parts
    key = f"({name})"
    if key not in held:
        made = Object(name, True)
        made.kind = kind
        held[key] = made
    found = held[key]
    assert type(found) is Object
    return found


def _is_constant(node: Node) -> bool:
    match node:
        case (nodes.SEQUENCE, kind, _):
            return bool(kind == "tuple")
    return node[0] in (nodes.CONST, nodes.UNARY, nodes.BINARY)


def _annotate(f: Following, func: Func, env: Env) -> None:
    """Note what annotations say of parameters of which nothing else is known."""
    for name, annotation in func.code.annotations:
        value = env.names.get(name)
        if type(value) is not Object or value.tensor is not None or value.cls is not None:
            continue
        if value.made_by in ("", SOME_CALL):
            f.annotate(func.module, annotation, value)
