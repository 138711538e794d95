"""Writes deferred statements in their new form, and replaces reads of their names by calls."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from coldfork.mending.annotations import is_harmless, quoted
from coldfork.mending.deferral import Deferral, Deferred, Form, handed_on
from coldfork.mending.draft import (
    STEP,
    Draft,
    above_body,
    blank_lines,
    bracketed,
    first_line,
    for_type_checkers,
    indented,
    patched,
    step,
    with_import,
    without_aliases,
)
from coldfork.mending.expressions import doubts, read_first, read_unbound, require_movable
from coldfork.mending.project import Case
from coldfork.mending.site import Function, Tree, bound, refuse_hidden
from coldfork.mending.text import BESIDE, CannotMend, Replacement, SourceText

_WIDE = 60


def write(deferral: Deferral, case: Case, keeps: bool = False) -> list[tuple[str, Draft]]:
    """Return the replacements in each file, by the file's path.

    With `keeps`, modules still provide the objects that they import, even if no checked code uses them.
    """
    files = list(dict.fromkeys(each.path for each in deferral.chosen))
    return [(path, _File(path, deferral, case, keeps).draft()) for path in files]


class _File:
    """The changes to one file."""

    def __init__(self, path: str, deferral: Deferral, case: Case, keeps: bool) -> None:
        self.keeps = keeps
        self.here = [each for each in deferral.chosen if each.path == path]
        self.tree: Tree = self.here[0].tree
        self.source: SourceText = self.tree.source
        self.case = Case(case.finding, self.tree, case.project)
        self.functions = _names_of_functions(self.tree, self.here)
        self.edits: list[Replacement] = []

    def draft(self) -> Draft:
        """Return all replacements in the file, and the reasons against applying them."""
        for each in self.here:
            self.edits += self._uses(each)
            self.edits += (edit for node in each.annotations for edit in quoted(self.tree, node))
        against = [doubt for each in self.here for doubt in self._doubts(each)]
        inner = {id(each): self._inner(each) for each in self.here}
        accessors = self._accessors()
        own = next((node for node in self.tree.root.body if _is_getattr(node)), None)
        bodies = [each for each in self.here if each.form is not Form.IMPORT]
        if accessors and own is not None:
            self.edits.append(self._into_getattr(own, accessors))
            accessors = []
        typed = [each for each in self.here if self._is_for_type_checkers(each)]
        for each in self.here:
            if each.form is Form.IMPORT:
                self.edits += self._instead(each, typed)
            else:
                rows = accessors if each is bodies[0] else []
                self.edits.append(self._function(each, inner[id(each)], rows))
        if accessors and not bodies:
            self.edits.append(self._at_end(accessors))
        if bodies:
            self.edits += with_import(self.tree, "functools")
        return Draft(
            tuple(self.edits), tuple(dict.fromkeys(against)), name="__getattr__" if accessors else ""
        )

    def _uses(self, deferred: Deferred) -> list[Replacement]:
        """Return the replacements in the functions that use the deferred names."""
        if deferred.form is Form.CONSTANT:
            call = f"{self.functions[id(deferred)]}()"
            return [Replacement(*self.source.span(use.node), call) for use in deferred.uses]
        return [
            self._at_top(function, together)
            for function in deferred.functions()
            if (together := self._together(deferred, function))[0] is deferred
        ]

    def _together(self, deferred: Deferred, function: Function) -> list[Deferred]:
        """Return the imports that a function needs under the same condition, so that it is written once."""
        if deferred.condition is None:
            return [deferred]
        beside = (each for each in self.here if each.condition is deferred.condition)
        return [each for each in beside if function in each.functions()]

    def _at_top(self, function: Function, together: list[Deferred]) -> Replacement:
        start, indent = above_body(self.tree, function)
        condition = together[0].condition
        if condition is not None:
            # If the condition does not hold, the function runs without the import, as it did before mending.
            refuse_hidden(condition.test, function)
        rows = self._call(together, step(self.source, function), function)
        line = self.source.newline
        return Replacement(start, start, "".join(f"{indent}{row}{line}" for row in rows))

    def _call(self, together: list[Deferred], inward: str, function: Function | None = None) -> list[str]:
        """Return the lines that bind the names of these statements, which share a condition; for a function,
        only the names that it uses.
        """
        first = together[0]
        if first.form is Form.BLOCK:
            return [f"{self.functions[id(first)]}()"]
        if first.condition is None:
            return [self._import(first, function)]
        imports = [f"{inward}{self._import(each, function)}" for each in together]
        return [f"if {self._expression(first.condition.test, first)}:", *imports]

    def _import(self, deferred: Deferred, function: Function | None = None) -> str:
        statement = deferred.statement
        assert isinstance(statement, (ast.Import, ast.ImportFrom))
        text, names = self.source.of(statement), {*deferred.names}
        if function is not None and "#" not in text:
            names &= {use.node.id for use in deferred.uses if use.functions[0] is function}
        comment = self.source.comment_behind(statement) if deferred.is_whole else ""
        if len(names) == len(statement.names):
            return text + comment
        assert isinstance(statement, ast.ImportFrom)
        taken = [alias for alias in statement.names if (alias.asname or alias.name) in names]
        module = "." * statement.level + (statement.module or "")
        return f"from {module} import {', '.join(map(ast.unparse, taken))}{comment}"

    def _moved(self, deferred: Deferred) -> ast.stmt:
        """Return the deferred statement, or the `if` around it if nothing else would remain in the `if`."""
        condition = deferred.condition
        gone = {each.statement for each in self.here if each.is_whole}
        return condition if condition is not None and gone.issuperset(condition.body) else deferred.statement

    def _inner(self, deferred: Deferred) -> list[Replacement]:
        """Remove from the file's edits those inside the moved statement, and return them."""
        start, end = self.source.span(self._moved(deferred))
        found = [each for each in self.edits if start <= each.start and each.end <= end]
        self.edits = [each for each in self.edits if each not in found]
        for other, node in deferred.needs:
            if other.form is Form.CONSTANT:
                found.append(Replacement(*self.source.span(node), f"{self.functions[id(other)]}()"))
        return found

    def _expression(self, node: ast.expr, deferred: Deferred) -> str:
        needs = [
            Replacement(*self.source.span(each), f"{self.functions[id(other)]}()")
            for other, each in deferred.needs
            if other.form is Form.CONSTANT
        ]
        return bracketed(patched(self.source, node, needs), node)

    def _function(self, deferred: Deferred, inner: list[Replacement], accessors: list[str]) -> Replacement:
        source, statement, line = self.source, deferred.statement, self.source.newline
        if statement.col_offset:
            raise CannotMend(BESIDE)
        comment = source.comment_behind(statement)
        rows = ["@functools.cache", f"def {self.functions[id(deferred)]}():"]
        prelude = [
            row
            for other, _ in deferred.needs
            if other.form is not Form.CONSTANT
            for row in self._call([other], STEP)
        ]
        if deferred.form is Form.CONSTANT:
            value = statement.value  # type: ignore[attr-defined]
            require_movable(value)
            rows += [f"{STEP}{row}" for row in prelude]
            rows.append(f"{STEP}return {bracketed(patched(source, value, inner), value)}{comment}")
        else:
            rows += [f"{STEP}global {name}" for name in deferred.names]
            rows += [f"{STEP}{row}" for row in dict.fromkeys(prelude)]
            rows.append(indented(patched(source, statement, inner, first_line(statement)) + comment, line))
        if accessors:
            rows += ["", "", *self._getattr(accessors)]
        before, after = blank_lines(source, statement)
        if any(each.statement.end_lineno == first_line(statement) - 1 for each in self.here):
            before = 0
        written = line * before + line.join(rows) + line * after
        last = statement.end_lineno or statement.lineno
        end = source.line_start(last) + len(source.line(last))
        return Replacement(source.line_start(first_line(statement)), end, written)

    def _accessors(self) -> list[str]:
        """Return the lines of `__getattr__` that provide deferred names to other modules."""
        rows: list[str] = []
        for each in self.here:
            names = [name for name in each.names if name in each.outside and self._is_provided(each, name)]
            if each.form is Form.BLOCK and len(names) > 1:
                listed = ", ".join(f'"{name}"' for name in names)
                head = [f"if name in ({listed}):"]
                if len(listed) > _WIDE:
                    head = ["if name in (", *(f'{STEP}"{name}",' for name in names), "):"]
                rows += [*head, *self._answer(each, names[0])]
                continue
            for name in names:
                rows += [f'if name == "{name}":', *self._answer(each, name)]
        return rows

    def _is_provided(self, deferred: Deferred, name: str) -> bool:
        is_object = not deferred.first or isinstance(deferred.statement, ast.ImportFrom)
        return (self.keeps and is_object) or self._is_asked_for(deferred, name)

    def _is_asked_for(self, deferred: Deferred, name: str) -> bool:
        if deferred.form is not Form.IMPORT:
            return True
        has_readers = any(self.case.project.readers(deferred.module, name))
        return (
            has_readers or name in handed_on(self.tree) or (deferred.is_package and not name.startswith("_"))
        )

    def _answer(self, deferred: Deferred, name: str) -> list[str]:
        """Return the lines below `if name == ...` in `__getattr__`."""
        statement = deferred.statement
        if deferred.form is Form.CONSTANT:
            rows = [f"return {self.functions[id(deferred)]}()"]
        elif deferred.form is Form.BLOCK:
            call = f"{self.functions[id(deferred)]}()"
            rows = [call, "if name in globals():", f"{STEP}return globals()[name]"]
        elif isinstance(statement, ast.ImportFrom) and statement.module is None:
            rows = ["import importlib", 'return importlib.import_module(f".{name}", __name__)']
        else:
            inward = STEP if deferred.condition is not None else ""
            rows = [*self._call([deferred], STEP), f"{inward}return {name}"]
        return [f"{STEP}{row}" for row in rows]

    def _getattr(self, accessors: list[str]) -> list[str]:
        return [
            "def __getattr__(name):",
            *(f"{STEP}{row}" for row in accessors),
            f'{STEP}raise AttributeError(f"module {{__name__!r}} has no attribute {{name!r}}")',
        ]

    def _into_getattr(self, own: ast.stmt, accessors: list[str]) -> Replacement:
        if not isinstance(own, ast.FunctionDef) or [each.arg for each in own.args.args] != ["name"]:
            raise CannotMend("the module has a `__getattr__` of its own")
        start, indent = above_body(self.tree, own)
        line = self.source.newline
        return Replacement(start, start, "".join(f"{indent}{row}{line}" for row in accessors))

    def _at_end(self, accessors: list[str]) -> Replacement:
        source, line = self.source, self.source.newline
        end = len(source.text)
        gap = "" if source.text.endswith(("\n", "\r")) else line
        return Replacement(end, end, gap + line * 2 + line.join(self._getattr(accessors)) + line)

    def _is_for_type_checkers(self, deferred: Deferred) -> bool:
        """Return whether this import is needed by annotations, or by modules that get it from
        `__getattr__`.
        """
        if deferred.form is not Form.IMPORT or deferred.condition is not None:
            return False
        asked = (name for name in deferred.outside if self._is_asked_for(deferred, name))
        return bool(deferred.annotations) or any(asked)

    def _instead(self, deferred: Deferred, typed: list[Deferred]) -> list[Replacement]:
        """Remove the import; the first import to be removed is replaced by a block with all of them for type
        checkers.
        """
        if deferred not in typed[:1]:
            return [self._without(deferred)]
        rows = [self._import(each) for each in typed]
        added, has_block = for_type_checkers(self.tree, deferred.statement, rows)
        if has_block or not deferred.is_whole:
            return [self._without(deferred), *added]
        # The block takes the statement's place, so the blank lines around it remain.
        first, last = deferred.statement.lineno, deferred.statement.end_lineno or 0
        span = self.source.line_start(first), self.source.line_start(last + 1)
        return [*added[:-1], Replacement(*span, added[-1].text)]

    def _without(self, deferred: Deferred) -> Replacement:
        """Return the removal of the import, together with surplus blank lines below it."""
        source, statement = self.source, self._moved(deferred)
        imports = deferred.statement
        assert isinstance(imports, (ast.Import, ast.ImportFrom))
        if not deferred.is_whole:
            return without_aliases(source, imports, deferred.names)
        first, last = statement.lineno, statement.end_lineno or statement.lineno
        source.comment_behind(statement)
        if source.text[source.line_start(first) : source.span(statement)[0]].strip():
            raise CannotMend(BESIDE)
        above, below = first - 1, last + 1
        while below <= source.length and not source.line(below).strip():
            if above > 0 and source.line(above).strip():
                break
            above, below = above - 1, below + 1
        return Replacement(source.line_start(first), source.line_start(below), "")

    def _doubts(self, deferred: Deferred) -> list[str]:
        found = [*deferred.doubts]
        statement: ast.AST = deferred.statement
        if deferred.form is Form.IMPORT:
            if deferred.annotations:
                found.append(f"`typing.get_type_hints` no longer finds `{deferred.names[0]}`")
            gone = {name for name in deferred.outside if not self._is_provided(deferred, name)}
            is_object = not deferred.first or isinstance(deferred.statement, ast.ImportFrom)
            if is_object and gone:
                found.append(f"`{deferred.module}.{min(gone)}` is no longer a name of that module")
            statement = deferred.condition.test if deferred.condition is not None else ast.Pass()
        found += (
            doubt
            for doubt in doubts(self.case, statement)
            if not any(doubt.startswith(f"`{name}` is bound") for name in deferred.names)
        )
        if deferred.form is Form.BLOCK:
            found += (f"it reads `{name}` before it binds it" for name in read_first(deferred.statement))
        if deferred.form is not Form.CONSTANT:
            for function in deferred.functions():
                for decorator in function.decorator_list:
                    if not is_harmless(decorator):
                        name = ast.unparse(decorator).partition("(")[0]
                        found.append(f"`@{name}` may read the body of {function.name}")
        if (unbound := read_unbound(deferred.tree.root)) is not None:
            found.append(f"an import of {deferred.module} fails over `{unbound}`")
        return found


def _names_of_functions(tree: Tree, deferred: Iterable[Deferred]) -> dict[int, str]:
    taken = {each.id for each in tree.nodes(ast.Name)} | {each.arg for each in tree.nodes(ast.arg)}
    taken |= bound(tree.root)
    found: dict[int, str] = {}
    for each in deferred:
        if each.form is Form.IMPORT:
            continue
        plain = each.names[0].strip("_").lower()
        wanted = f"_{plain}" if each.form is Form.CONSTANT else f"_bind_{plain}"
        name = next((name for name in (wanted, f"{wanted}_once") if name not in taken), None)
        if name is None or not name.isidentifier():
            raise CannotMend(f"the file uses the name `{wanted}` already")
        taken.add(name)
        found[id(each)] = name
    return found


def _is_getattr(node: ast.stmt) -> bool:
    return "__getattr__" in bound(ast.Module([node], []))
