"""Statements of torch's functions, run one after the other; unknown conditions are followed both ways."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from torch_expressions import Expressions
from torch_frames import Frame, Leave, RaisedError, Reached, ReturnedSignal
from torch_values import NONE, UNKNOWN, InstanceValue, PreparedValue, Value, either, floor, truth

#: Unknown conditions of a function that are followed both ways; beyond, one side only counts as possible.
FORKS = 10


class Statements(Expressions):
    """Runs statements; definitions and imports are the interpreter's."""

    def define(self, node: ast.stmt, frame: Frame) -> None:
        """Run a definition or an import."""
        raise NotImplementedError

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
                    self.assign(target, value, frame)
            case ast.AnnAssign(value=ast.expr() as expression):
                self.assign(statement.target, self.evaluate(expression, frame), frame)
            case ast.AugAssign():
                self.evaluate(statement.value, frame)
                self.assign(statement.target, UNKNOWN, frame)
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
            self.assign(item.optional_vars, entered, frame)
        return Leave(manager)

    def enter(self, manager: PreparedValue) -> None:
        """Run the body of a generator function that makes a context manager."""
        function = replace(manager.function, context_manager=False)
        self.call(function, manager.arguments, manager.keywords)

    def assign(self, target: ast.expr, value: Value, frame: Frame) -> None:
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
                    self.assign(part, UNKNOWN, frame)
            case ast.Starred(value=part):
                self.assign(part, UNKNOWN, frame)
