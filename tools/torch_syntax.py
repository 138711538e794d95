"""Statements and expressions of torch's functions, run with what is known of the values."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from torch_values import (
    NONE,
    SOMETHING,
    UNKNOWN,
    ClassValue,
    Constant,
    Deferred,
    External,
    FunctionValue,
    InstanceValue,
    ModuleValue,
    PreparedValue,
    SuperValue,
    Unknown,
    Value,
    either,
    floor,
    is_none,
    truth,
)

#: Unknown conditions of a function that are followed both ways; beyond, one side only counts as possible.
FORKS = 10
BUILTIN_TYPES: dict[str, type] = {"int": int, "str": str, "bool": bool, "float": float, "list": list}


class RaisedError(Exception):
    """Every way through the code ends in an error."""


class ReturnedSignal(Exception):  # noqa: N818 - it is no error
    """A `return` was met."""

    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value


@dataclass
class Reached:
    """How far the device woke: on every way, on some way, and through which unknown C functions."""

    certain: int = 0
    possible: int = 0
    opaque: frozenset[str] = frozenset()

    def wake(self, level: int) -> None:
        """Note an effect on the current way."""
        self.certain = max(self.certain, level)
        self.possible = max(self.possible, level)

    def glimpse(self, other: Reached) -> None:
        """Note what may happen besides."""
        self.possible = max(self.possible, other.possible)
        self.opaque |= other.opaque


@dataclass
class Frame:
    """One call in progress."""

    module: str
    scope: dict[str, Value]
    owner: ClassValue | None = None
    bound: Value | None = None
    forks: int = 0


@dataclass(eq=False)
class Leave(ast.stmt):
    """Stands in the list of statements for the end of a `with` block."""

    manager: Value = field(default=UNKNOWN)


class Syntax:
    """Runs statements and evaluates expressions; what names and calls mean, the interpreter says."""

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

    def define(self, node: ast.stmt, frame: Frame) -> None:
        """Run a definition or an import."""
        raise NotImplementedError

    # -- statements ---------------------------------------------------------------------------------------

    def run(self, statements: Sequence[ast.stmt], frame: Frame) -> None:
        """Run statements to the end, to a `return` or to an error; blocks are spliced into the list."""
        rest = list(statements)
        while rest:
            statement = rest.pop(0)
            match statement:
                case ast.If():
                    rest = self._branch(statement, rest, frame)
                case ast.With():
                    leaving = [self._enter(item, frame) for item in statement.items]
                    rest = [*statement.body, *reversed(leaving), *rest]
                case ast.Try():
                    for handler in statement.handlers:
                        self.glimpse(handler.body, frame)
                    rest = [*statement.body, *statement.orelse, *statement.finalbody, *rest]
                case ast.For():
                    many = floor(self.evaluate(statement.iter, frame))
                    if many:
                        rest = [*statement.body, *rest]
                    else:
                        self.glimpse(statement.body, frame)
                case ast.While():
                    self.evaluate(statement.test, frame)
                    self.glimpse(statement.body, frame)
                case _:
                    self._simple(statement, frame)

    def _simple(self, statement: ast.stmt, frame: Frame) -> None:
        """Run a statement without blocks."""
        match statement:
            case ast.FunctionDef() | ast.ClassDef() | ast.Import() | ast.ImportFrom():
                self.define(statement, frame)
            case ast.Return():
                raise ReturnedSignal(self.evaluate(statement.value, frame) if statement.value else NONE)
            case ast.Raise():
                raise RaisedError
            case ast.Assign():
                value = self.evaluate(statement.value, frame)
                for target in statement.targets:
                    self._assign(target, value, frame)
            case ast.AnnAssign(value=ast.expr() as expression):
                self._assign(statement.target, self.evaluate(expression, frame), frame)
            case ast.AugAssign():
                self.evaluate(statement.value, frame)
                self._assign(statement.target, UNKNOWN, frame)
            case ast.Expr() | ast.Assert():
                self.evaluate(statement.value if isinstance(statement, ast.Expr) else statement.test, frame)
            case Leave(manager=InstanceValue() as manager):
                self.call(self.member(manager, "__exit__"), [NONE, NONE, NONE], {})

    def _branch(self, statement: ast.If, rest: list[ast.stmt], frame: Frame) -> list[ast.stmt]:
        """Take the branch of an `if`; where that is not known, follow both to the end of the function."""
        known = truth(self.evaluate(statement.test, frame))
        if known is not None:
            return [*(statement.body if known else statement.orelse), *rest]
        frame.forks += 1
        if frame.forks > FORKS:
            self.glimpse(statement.body, frame)
            return [*statement.orelse, *rest]
        before = self.reached
        ends: list[tuple[Reached, Value]] = []
        for branch in (statement.body, statement.orelse):
            self.reached = replace(before)
            fork = replace(frame, scope=dict(frame.scope))
            try:
                self.run([*branch, *rest], fork)
                ends.append((self.reached, NONE))
            except ReturnedSignal as returned:
                ends.append((self.reached, returned.value))
            except RaisedError:
                continue
            finally:
                frame.forks = max(frame.forks, fork.forks)
        self.reached = before
        if not ends:
            raise RaisedError
        before.certain = min(reached.certain for reached, _ in ends)
        for reached, _ in ends:
            before.glimpse(reached)
        raise ReturnedSignal(ends[0][1] if len(ends) == 1 else either(ends[0][1], ends[1][1]))

    def glimpse(self, statements: Sequence[ast.stmt], frame: Frame) -> None:
        """Run statements that may not run at all."""
        before, self.reached = self.reached, replace(self.reached)
        try:
            self.run(statements, replace(frame, scope=dict(frame.scope)))
        except (ReturnedSignal, RaisedError):
            pass
        finally:
            before.glimpse(self.reached)
            self.reached = before

    def _enter(self, item: ast.withitem, frame: Frame) -> Leave:
        """Enter a `with` block."""
        manager = self.evaluate(item.context_expr, frame)
        entered: Value = UNKNOWN
        if isinstance(manager, InstanceValue):
            entered = self.call(self.member(manager, "__enter__"), [], {})
        elif isinstance(manager, PreparedValue):
            self.enter(manager)
        if item.optional_vars is not None:
            self._assign(item.optional_vars, entered, frame)
        return Leave(manager)

    def enter(self, manager: PreparedValue) -> None:
        """Run the body of a generator function that makes a context manager."""
        function = replace(manager.function, context_manager=False)
        self.call(function, manager.arguments, manager.keywords)

    def _assign(self, target: ast.expr, value: Value, frame: Frame) -> None:
        """Bind a target."""
        match target:
            case ast.Name(id=name):
                frame.scope[name] = value
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                instance = frame.scope.get(owner)
                if isinstance(instance, InstanceValue):
                    instance.attributes[name] = value
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for part in parts:
                    self._assign(part, UNKNOWN, frame)
            case ast.Starred(value=part):
                self._assign(part, UNKNOWN, frame)

    # -- expressions --------------------------------------------------------------------------------------

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
                self._assign(node.target, named, frame)
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
            self._assign(generator.target, UNKNOWN, inner)
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
        known = _compared(left, node.ops[0], rights[0])
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
                known = _is_instance(value, kind)
                return UNKNOWN if known is None else Constant(known)
            case (("range" | "list" | "tuple"), [value]):
                return value
            case _:
                return UNKNOWN


def _compared(left: Value, operator: ast.cmpop, right: Value) -> bool | None:
    """The outcome of a comparison, None if it is not known."""
    if isinstance(operator, ast.Is | ast.IsNot) and right == NONE:
        known = is_none(left)
        return known if known is None or isinstance(operator, ast.Is) else not known
    if isinstance(left, Constant) and isinstance(right, Constant):
        if isinstance(operator, ast.Eq | ast.NotEq):
            return (left.value == right.value) == isinstance(operator, ast.Eq)
        if not isinstance(left.value, int) or not isinstance(right.value, int):
            return None
        return _ordered(left.value, operator, right.value)
    low = floor(left)
    if low is None or not isinstance(right, Constant) or not isinstance(right.value, int):
        return None
    match operator:
        case ast.GtE() if low >= right.value:
            return True
        case ast.Gt() | ast.NotEq() if low > right.value:
            return True
        case ast.Lt() if low >= right.value:
            return False
        case ast.LtE() | ast.Eq() if low > right.value:
            return False
    return None


def _ordered(left: int, operator: ast.cmpop, right: int) -> bool | None:
    """Compare two numbers."""
    match operator:
        case ast.Lt():
            return left < right
        case ast.LtE():
            return left <= right
        case ast.Gt():
            return left > right
        case ast.GtE():
            return left >= right
    return None


def _is_instance(value: Value, kind: Value) -> bool | None:
    """Whether a value is an instance of a class, None if that is not known."""
    if value == NONE:
        return False
    builtin = isinstance(kind, External) and BUILTIN_TYPES.get(kind.name.removeprefix("builtins."))
    if isinstance(value, Constant):
        return isinstance(value.value, builtin) if builtin else None
    if floor(value) is not None:
        return builtin is int
    if isinstance(value, InstanceValue) and isinstance(kind, ClassValue):
        return True if value.cls is kind else None
    if isinstance(value, ModuleValue):
        return False
    return None
