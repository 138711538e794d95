"""Expressions of torch's functions, evaluated with what is known of the values."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace

from torch_comparisons import compared, is_instance
from torch_frames import Frame, RaisedError, Reached
from torch_values import (
    SOMETHING,
    UNKNOWN,
    Constant,
    Deferred,
    External,
    FunctionValue,
    ModuleValue,
    SuperValue,
    Unknown,
    Value,
    either,
    floor,
    truth,
)


class Expressions:
    """Evaluates expressions; what names and calls mean, the interpreter says."""

    def __init__(self) -> None:
        self.reached = Reached()

    def names(self, module: str) -> dict[str, Value]:
        """What a module's top level binds."""
        raise NotImplementedError

    def member(self, owner: Value, name: str) -> Value:
        """The attribute `name` of a value."""
        raise NotImplementedError

    def call(self, target: Value, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
        """Call a value and return the result."""
        raise NotImplementedError

    def assign(self, target: ast.expr, value: Value, frame: Frame) -> None:
        """Bind a target."""
        raise NotImplementedError

    def evaluate(self, node: ast.expr, frame: Frame) -> Value:
        """The value of an expression."""
        match node:
            case ast.Constant(value=value):
                return Constant(value)
            case ast.Name(id=name):
                return self._name(name, frame)
            case ast.Attribute(value=owner, attr=name):
                return self.member(self.evaluate(owner, frame), name)
            case ast.Call():
                return self._call(node, frame)
            case ast.BoolOp():
                return self._either_way(node, frame)
            case ast.UnaryOp():
                return self._unary(node, frame)
            case ast.Compare():
                return self._compare(node, frame)
            case ast.IfExp():
                return self._conditional(node, frame)
            case ast.NamedExpr():
                named = self.evaluate(node.value, frame)
                self.assign(node.target, named, frame)
                return named
            case ast.Lambda():
                return FunctionValue(frame.module, node, frame.scope, None, frame.owner)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self._comprehension(node, frame)
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self.evaluate(child, frame)
                return UNKNOWN

    def _unary(self, node: ast.UnaryOp, frame: Frame) -> Value:
        """`not` and a minus sign."""
        value = self.evaluate(node.operand, frame)
        if isinstance(node.op, ast.Not):
            known = truth(value)
            return UNKNOWN if known is None else Constant(not known)
        if isinstance(node.op, ast.USub) and isinstance(value, Constant) and isinstance(value.value, int):
            return Constant(-value.value)
        return UNKNOWN

    def _name(self, name: str, frame: Frame) -> Value:
        """The value of a bare name."""
        found = frame.scope.get(name) or self.names(frame.module).get(name)
        if isinstance(found, Deferred):
            found = frame.scope[name] = self.member(ModuleValue(found.module), found.name)
        return External(f"builtins.{name}") if found is None else found

    def _maybe(self, node: ast.expr, frame: Frame) -> Value:
        """The value of an expression that may not be evaluated at all."""
        before, self.reached = self.reached, replace(self.reached)
        try:
            return self.evaluate(node, frame)
        except RaisedError:
            return UNKNOWN
        finally:
            before.glimpse(self.reached)
            self.reached = before

    def _either_way(self, node: ast.BoolOp, frame: Frame) -> Value:
        """`and` and `or`, which stop at the first operand that settles them."""
        settles = isinstance(node.op, ast.Or)
        result: Value | None = None
        for operand in node.values:
            value = self.evaluate(operand, frame) if result is None else self._maybe(operand, frame)
            if truth(value) is settles:
                return value if result is None else UNKNOWN
            if truth(value) is None:
                result = UNKNOWN
        return value if result is None else result

    def _conditional(self, node: ast.IfExp, frame: Frame) -> Value:
        """`a if test else b`."""
        known = truth(self.evaluate(node.test, frame))
        if known is not None:
            return self.evaluate(node.body if known else node.orelse, frame)
        return either(self._maybe(node.body, frame), self._maybe(node.orelse, frame))

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, frame: Frame
    ) -> Value:
        """A comprehension; over the devices it runs once at least."""
        inner = replace(frame, scope=dict(frame.scope))
        many = floor(self.evaluate(node.generators[0].iter, inner))
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        for generator in node.generators:
            self.assign(generator.target, UNKNOWN, inner)
        for part in parts:
            if many:
                self.evaluate(part, inner)
            else:
                self._maybe(part, inner)
        return SOMETHING

    def _compare(self, node: ast.Compare, frame: Frame) -> Value:
        """A comparison, as far as it is known."""
        left = self.evaluate(node.left, frame)
        rights = [self.evaluate(right, frame) for right in node.comparators]
        if len(rights) != 1:
            return UNKNOWN
        known = compared(left, node.ops[0], rights[0])
        return UNKNOWN if known is None else Constant(known)

    def _call(self, node: ast.Call, frame: Frame) -> Value:
        """A call expression."""
        target = self.evaluate(node.func, frame)
        if isinstance(node.func, ast.Attribute) and isinstance(target, Unknown):
            owner = self.evaluate(node.func.value, frame)
            if node.func.attr == "lower" and isinstance(owner, Constant) and isinstance(owner.value, str):
                return Constant(owner.value.lower())
            # Whoever asks decides whether a method of this name could wake a device.
            self.reached.opaque |= {f"?.{node.func.attr}"}
        arguments = [self.evaluate(item, frame) for item in node.args]
        keywords = {item.arg or "**": self.evaluate(item.value, frame) for item in node.keywords}
        if not isinstance(target, External) or not target.name.startswith("builtins."):
            return self.call(target, arguments, keywords)
        return self._built_in(target.name.removeprefix("builtins."), arguments, frame)

    def _built_in(self, name: str, arguments: list[Value], frame: Frame) -> Value:
        """A call of a builtin."""
        match name, arguments:
            case "super", _ if frame.owner is not None:
                return SuperValue(frame.owner, frame.bound)
            case "hasattr", [External(name="torch._C"), _]:
                return Constant(True)
            case "hasattr", [External(name="torch"), Constant(value="xpu" | "mtia")]:
                return Constant(True)
            case "hasattr", [External() | Unknown(), Constant(value="is_initializing")]:
                return Constant(False)
            case "getattr", [owner, Constant(value=str(attribute)), *_]:
                return self.member(owner, attribute)
            case "isinstance", [value, kind]:
                known = is_instance(value, kind)
                return UNKNOWN if known is None else Constant(known)
            case (("range" | "list" | "tuple"), [value]):
                return value
            case _:
                return UNKNOWN
