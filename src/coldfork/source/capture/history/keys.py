"""Keys of containers, by value where it is known and by identity where it is not.

What a pure function makes of the same things is the same thing: `x.shape[0] // 2` is one key however often
it is computed.
"""

from __future__ import annotations

from coldfork.source.capture.following import Following
from coldfork.source.capture.objects import ANY, SOME_CALL, Func, Object, Value
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node
from coldfork.source.values.kinds import ClassRef, Const, External, ModuleRef


def key_of(f: Following, value: Value) -> str:
    """The key under which an item is kept."""
    return f"[{token(f, value)}]"


def token(f: Following, value: Value) -> str:
    """What tells a value from every other; the same for what is surely the same."""
    if isinstance(value, Const):
        return of_constant(value.value)
    if isinstance(value, (External, ModuleRef)):
        return value.name
    if isinstance(value, ClassRef):
        return f"{value.module.name}.{value.name}"
    if isinstance(value, Func):
        return ":".join(map(str, value.place))
    if type(value) is not Object:
        return f"?{f.run.number(Object('', False))}"
    elements = value.elements() if value.kind == "tuple" else None
    if elements is not None:
        inner = [token(f, one) for one in elements]
        return f"({', '.join(inner)}{',' * (len(inner) == 1)})"
    if value.cls is not None and f.names.compares_by_value(value.cls):
        fields = [token(f, value.part(name)) for name in f.names.fields(value.cls)]
        return f"{value.cls.module.name}.{value.cls.name}({', '.join(fields)})"
    return f"#{f.run.number(value)}"


def of_constant(value: object) -> str:
    """What tells a constant from every other that does not equal it: `True`, `1` and `1.0` are one key."""
    if type(value) is tuple:
        return f"({', '.join(map(of_constant, value))}{',' * (len(value) == 1)})"
    if isinstance(value, float | complex) and value == value.real and value.real.is_integer():
        value = value.real
    return repr(int(value) if isinstance(value, bool | float) and value == value // 1 else value)


def is_known(key: str) -> bool:
    """True for a key whose value is known, so that it differs from every other such key."""
    return key != ANY and "#" not in key and "?" not in key


def numbered(f: Following, name: str, *of: str, made_by: str = "") -> Object:
    """What a pure function gives of these: the same object each time."""
    known = f.run.numbered.get(of)
    if known is None:
        known = f.run.numbered[of] = Object(name, False, made_by=made_by)
    return known


def shape_of(f: Following, tensor: Object) -> Object:
    """What stands for the shape of a tensor: tensors of the same shape may share it."""
    held = tensor.part("shape")
    return held if type(held) is Object else tensor


def give_shape(f: Following, made: Object, how: str, values: list[Value]) -> None:
    """The shape of what was computed: the same operation on the same shapes gives the same."""
    tokens = [token(f, shape_of(f, one) if type(one) is Object and not one.kind else one) for one in values]
    made.parts["shape"] = numbered(f, "shape", "shape", how, *tokens, made_by=SOME_CALL)


def slice_token(f: Following, node: Node) -> str:
    """An index of a tensor, as what tells it from others."""
    if node[0] == nodes.SLICE:
        _, parts = node
        return ":".join(slice_token(f, part) for part in parts)
    if node[0] == nodes.SEQUENCE:
        _, _, elements = node
        return ",".join(slice_token(f, element) for element in elements)
    return token(f, f.evaluate(node))
