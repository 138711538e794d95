"""Statements that are deferred until their names are used: the one that wakes a device, and those that need
it.

A deferred statement takes one of three forms. A constant becomes a function that its readers call. An import
moves into the functions that use its names. Anything else becomes a function that binds the same names, and
is called at the top of the functions that use them. A statement that reads such a name at import is deferred
too, if possible.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from enum import StrEnum

from coldfork.mending.annotations import annotation_of
from coldfork.mending.expressions import BY_NAME, always_binds
from coldfork.mending.project import Project, Reader
from coldfork.mending.site import Function, Tree, Use, bindings, bound, target_of
from coldfork.mending.text import CannotMend

_MOST = 12
#: Decorators that compile a function from its source text.
_COMPILING = frozenset({"autotune", "heuristics", "jit", "jit_fused", "kernel", "njit", "script"})
_BRANCHING = (ast.If, ast.Try)
_BINDING = (ast.Assign, ast.ClassDef, ast.FunctionDef, ast.Import, ast.ImportFrom, ast.Pass, ast.Raise)


class Form(StrEnum):
    """How a deferred statement is rewritten."""

    CONSTANT = "constant"
    IMPORT = "import"
    BLOCK = "block"


@dataclass(slots=True)
class Deferred:
    """A statement of a module that will run later."""

    module: str
    path: str
    tree: Tree
    statement: ast.stmt
    form: Form
    names: tuple[str, ...]
    """The deferred names that it binds; an import may bind others as well."""
    first: bool
    """True for the statement that wakes the device."""
    uses: list[Use] = field(default_factory=list)
    """The places where functions of the module use these names."""
    annotations: list[ast.expr] = field(default_factory=list)
    """The annotations, in functions of the module, that contain these names."""
    needs: list[tuple[Deferred, ast.Name]] = field(default_factory=list)
    """The other deferred statements that it reads from, and where."""
    outside: set[str] = field(default_factory=set)
    """The names that other modules read, or may read, as attributes of the module."""
    doubts: list[str] = field(default_factory=list)

    @property
    def is_package(self) -> bool:
        """Whether the module is a package, whose names are meant for other modules."""
        return self.path.endswith("__init__.py")

    @property
    def condition(self) -> ast.If | None:
        """The module's `if` around an import, if there is one; the `if` has no other branch."""
        parent = self.tree.parents[self.statement]
        return parent if self.form is Form.IMPORT and isinstance(parent, ast.If) else None

    @property
    def has_annotations(self) -> bool:
        """Whether annotations can do without its names, because type checkers still see the import."""
        return self.form is Form.IMPORT and self.condition is None

    @property
    def is_whole(self) -> bool:
        """Whether all names that the statement imports are deferred, so that nothing of it remains."""
        return len(self.names) == len(getattr(self.statement, "names", ()))

    def functions(self) -> list[Function]:
        """Return the outermost functions that use the deferred names."""
        found: dict[int, Function] = {}
        for use in self.uses:
            function = use.functions[0]
            assert isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
            found.setdefault(function.lineno, function)
        return list(found.values())


class Deferral:
    """All statements that can only be deferred together."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self.chosen: list[Deferred] = []

    def copy(self) -> Deferral:
        """Return a copy of this deferral, to which further statements can be added."""
        made = Deferral(self._project)
        made.chosen = [
            replace(
                each,
                uses=[*each.uses],
                annotations=[*each.annotations],
                needs=[*each.needs],
                outside={*each.outside},
                doubts=[*each.doubts],
            )
            for each in self.chosen
        ]
        return made

    def add(
        self, module: str, path: str, statement: ast.stmt, only: str | None = None, first: bool = False
    ) -> Deferred:
        """Defer a statement of a module, and the statements that read its names during imports."""
        tree = self._project.tree(path)
        statement = deferrable(tree, statement)
        known = [each for each in self.chosen if each.statement is statement]
        if known and (only is None or only in known[0].names or known[0].form is not Form.IMPORT):
            return known[0]
        if len(self.chosen) >= _MOST:
            raise CannotMend(f"more than {_MOST} statements would have to run later")
        if known:
            names: tuple[str, ...] = (only or "",)
            deferred = known[0]
            deferred.names += names
        else:
            form = _form(statement)
            names = _names(statement, form)
            if only is not None and form is Form.IMPORT:
                names = (only,)
            deferred = Deferred(module, path, tree, statement, form, names, first)
            self.chosen.append(deferred)
        for name in names:
            self._follow(deferred, name)
        if not known:
            self._require_use(deferred)
        return deferred

    def _require_use(self, deferred: Deferred) -> None:
        """If no code here uses the names, record a doubt or refuse the deferral."""
        used = {use.node.id for use in deferred.uses}
        used |= {node.id for each in self.chosen for other, node in each.needs if other is deferred}
        used |= {name for name in deferred.names if any(self._project.readers(deferred.module, name))}
        if used or deferred.annotations or not deferred.first:
            return
        if isinstance(deferred.statement, _BRANCHING):
            raise CannotMend("nothing here uses what it binds: it is there for its side effects")
        if deferred.form is not Form.IMPORT:
            deferred.doubts.append(f"nothing here reads `{deferred.names[0]}`")
        elif not handed_on(deferred.tree).intersection(deferred.names):
            raise CannotMend("nothing in the module uses it: it may be imported for its side effects")

    def _follow(self, deferred: Deferred, name: str) -> None:
        tree, statement = deferred.tree, deferred.statement
        if bindings(tree, name) > bindings(tree, name, statement):
            raise CannotMend(f"`{name}` is bound more than once")
        if deferred.form is Form.CONSTANT and bindings(tree, name) > 1:
            raise CannotMend(f"`{name}` is bound more than once")
        for use in tree.uses(name):
            if not isinstance(use.node.ctx, ast.Load) or statement in tree.above(use.node):
                continue
            _require_python(tree, use)
            if not use.deferred:
                annotation = annotation_of(tree, use.node) if deferred.has_annotations else None
                if annotation is None:
                    self._need(deferred, use.node, tree)
                else:
                    deferred.annotations.append(annotation)
                continue
            if deferred.form is not Form.CONSTANT:
                _require_room(use)
            deferred.uses.append(use)
        readers = list(self._project.readers(deferred.module, name))
        for reader in readers:
            self._read(deferred, name, reader)
        if not name.startswith("_") or readers:
            deferred.outside.add(name)
        for each in BY_NAME:
            if tree.uses(each):
                deferred.doubts.append(f"`{each}` may look it up by name")

    def _need(self, deferred: Deferred, node: ast.Name, tree: Tree) -> None:
        """Defer a statement that reads the name during the import."""
        refusal = f"line {node.lineno} reads `{node.id}` when the module is imported"
        following = tree.top(node)
        if following.lineno < tree.top(deferred.statement).lineno:
            raise CannotMend(f"line {node.lineno} reads `{node.id}` above its own line")
        self._require(following, tree, refusal)
        other = self.add(deferred.module, deferred.path, following)
        other.needs.append((deferred, node))
        if other.form is Form.IMPORT and (other.condition is None or deferred.form is not Form.CONSTANT):
            raise CannotMend(refusal)

    def _read(self, deferred: Deferred, name: str, reader: Reader) -> None:
        refusal = f"{reader.path}:{reader.line} reads `{name}` when it is imported"
        if reader.changes:
            deferred.doubts.append(f"{reader.path}:{reader.line} may replace it")
        if not reader.eager:
            return
        if reader.node is None or reader.alias == "*":
            raise CannotMend(refusal)
        if not always_binds([deferred.condition or deferred.statement], name):
            deferred.doubts.append(f"`{name}` may stay unbound, and {reader.path}:{reader.line} fails then")
        tree = self._project.tree(reader.path)
        following = tree.top(reader.node)
        self._require(following, tree, refusal)
        try:
            self.add(reader.module, reader.path, following, reader.alias or None)
        except CannotMend as error:
            raise CannotMend(f"{refusal}: {error}") from None

    def _require(self, following: ast.stmt, tree: Tree, refusal: str) -> None:
        if isinstance(following, (ast.Assign, ast.AnnAssign, ast.Import, ast.ImportFrom, *_BRANCHING)):
            if _own_names(following):
                return
        raise CannotMend(refusal)


def deferrable(tree: Tree, node: ast.expr | ast.stmt) -> ast.stmt:
    """Return the statement to defer for a node: an import, or the module-level statement with the node."""
    inner, top = tree.statement(node), tree.top(node)
    if isinstance(top, ast.If) and not top.orelse:
        if isinstance(inner, (ast.Import, ast.ImportFrom)) and inner in top.body:
            is_plain = not any(isinstance(each, ast.NamedExpr) for each in ast.walk(top.test))
            return inner if is_plain else top
        if len(top.body) == 1 and isinstance(top.body[0], (ast.Import, ast.ImportFrom)):
            return top.body[0]
    return top


def handed_on(tree: Tree) -> frozenset[str]:
    """Return the names that the module lists in `__all__`."""
    found: set[str] = set()
    for node in tree.root.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
                texts = (each.value for each in ast.walk(node) if isinstance(each, ast.Constant))
                found |= {text for text in texts if isinstance(text, str)}
    return frozenset(found)


def _form(statement: ast.stmt) -> Form:
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return Form.IMPORT
    if target_of(statement) is not None and getattr(statement, "value", None) is not None:
        return Form.CONSTANT
    return Form.BLOCK


def _own_names(statement: ast.stmt) -> frozenset[str]:
    handlers = {each.name for each in ast.walk(statement) if isinstance(each, ast.ExceptHandler)}
    return bound(ast.Module([statement], [])) - handlers


def _names(statement: ast.stmt, form: Form) -> tuple[str, ...]:
    """Return the names that a statement binds; raise `CannotMend` if the statement cannot be deferred."""
    names = _own_names(statement)
    for each in ast.walk(statement):
        if isinstance(each, (ast.Import, ast.ImportFrom)):
            _require_plain(each, form)
        elif isinstance(each, ast.ClassDef) and each is statement:
            raise CannotMend("it is in the body of a class")
        elif isinstance(each, (ast.Await, ast.Delete)):
            raise CannotMend("it deletes a name or waits")
        elif form is Form.BLOCK and isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            raise CannotMend(f"`{each.target.id}` has an annotation, which only the module can give it")
    if isinstance(statement, ast.If) and "__name__" in ast.dump(statement.test):
        raise CannotMend("it is the program's `__name__` guard")
    if "__all__" in names:
        raise CannotMend("it defines `__all__`")
    if not names:
        is_plain = isinstance(statement, ast.Expr)
        raise CannotMend(
            "it is not an assignment" if is_plain else "it binds no name that could be looked up"
        )
    if form is Form.BLOCK:
        _require_binding(statement)
    return tuple(sorted(names))


def _require_binding(statement: ast.stmt, handles: bool = False) -> None:
    """Refuse a statement that does more than bind names; only `except` blocks may have other expressions."""
    if isinstance(statement, ast.If):
        inner = [*statement.body, *statement.orelse]
    elif isinstance(statement, ast.Try):
        inner = [*statement.body, *statement.orelse, *statement.finalbody]
        for handler in statement.handlers:
            for each in handler.body:
                _require_binding(each, True)
    else:
        inner = []
        if not isinstance(statement, _BINDING) and not (handles and isinstance(statement, ast.Expr)):
            raise CannotMend(f"line {statement.lineno} does more than bind a name")
    for target in getattr(statement, "targets", ()):
        if not all(isinstance(each, (ast.Name, ast.Tuple, ast.List)) for each in _targets(target)):
            raise CannotMend(f"line {statement.lineno} changes something else")
    for each in inner:
        _require_binding(each, handles)


def _targets(target: ast.expr) -> list[ast.expr]:
    inner = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
    return [target, *(each for element in inner for each in _targets(element))]


def _require_plain(statement: ast.Import | ast.ImportFrom, form: Form) -> None:
    if any(alias.name == "*" for alias in statement.names):
        raise CannotMend("it imports by a star")
    if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
        raise CannotMend("it is not an import")
    for alias in statement.names:
        if isinstance(statement, ast.Import) and alias.asname is None and "." in alias.name:
            raise CannotMend(f"it binds only the first name of `{alias.name}`")
    if form is Form.IMPORT and isinstance(statement, ast.Import) and len(statement.names) > 1:
        raise CannotMend("the statement imports several modules")


def _require_python(tree: Tree, use: Use) -> None:
    """Refuse a use in a function that a decorator compiles, because the added calls may not compile."""
    for each in tree.above(use.node):
        for decorator in getattr(each, "decorator_list", ()):
            name = ast.unparse(decorator).partition("(")[0]
            if name.rpartition(".")[2] in _COMPILING and isinstance(each, (ast.FunctionDef)):
                line = use.node.lineno
                raise CannotMend(f"line {line} uses `{use.node.id}` in a function that `@{name}` compiles")


def _require_room(use: Use) -> None:
    """Refuse a use in a function into which no line can be inserted at the top."""
    function = use.functions[0]
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        raise CannotMend(f"line {use.node.lineno} uses `{use.node.id}` in a lambda")
    if function.body[0].lineno == function.lineno:
        raise CannotMend(f"the body of {function.name} is on the same line as its `def`")
    for each in ast.walk(function):
        if isinstance(each, (ast.Global, ast.Nonlocal)) and use.node.id in each.names:
            raise CannotMend(f"{function.name} declares `{use.node.id}` global")
