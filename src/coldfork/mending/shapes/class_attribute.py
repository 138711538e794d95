"""A class attribute, computed when it is first read and then stored on the class.

A descriptor computes the value and then replaces itself by it, so that nothing differs from the original.
"""

from __future__ import annotations

import ast

from coldfork.mending.draft import Draft, inline, with_function
from coldfork.mending.expressions import doubts, require_movable
from coldfork.mending.project import Case
from coldfork.mending.site import Tree, bound, loads, target_of
from coldfork.mending.text import CannotMend, Replacement

HELPER = "_computed_once"
_WRITTEN = '''\
def _computed_once(compute):
    """A class attribute that is computed when it is first read, and kept from then on."""

    class Attribute:
        def __set_name__(self, owner, name):
            self.place = owner, name

        def __get__(self, instance, owner=None):
            value = compute()
            setattr(*self.place, value)
            bind = getattr(type(value), "__get__", None)
            return value if bind is None else bind(value, instance, owner)

    return Attribute()


'''
#: Base classes that do nothing with the attributes of a subclass.
_PLAIN_BASES = frozenset(
    {"ABC", "BaseException", "Exception", "Generic", "RuntimeError", "ValueError", "object"}
)
#: Base classes that inspect the body of a subclass while it is created.
_READING_BASES = frozenset(
    {"BaseModel", "Enum", "Flag", "IntEnum", "IntFlag", "NamedTuple", "Protocol", "StrEnum", "Struct"}
    | {"Structure", "TypedDict"}
)


def draft(case: Case, node: ast.expr | ast.stmt) -> Draft:
    """Replace the attribute with a descriptor."""
    tree, source = case.tree, case.tree.source
    statement, owner, target, value = _attribute(tree, node)
    require_movable(value)
    _refuse_what_reads_the_body(owner)
    names = bound(owner)
    for name in loads(value):
        if name.id in names:
            raise CannotMend(f"`{name.id}` is a name of the class body, which a function does not see")
    _refuse_other_uses(tree, owner, statement, target)
    helper = with_function(tree, HELPER, _WRITTEN, owner)
    written = f"{HELPER}(lambda: {inline(source, value)})"
    against = doubts(case, value) + _doubts(tree, owner)
    edits = (Replacement(*source.span(value), written), *helper)
    return Draft(edits, tuple(against), helper[0].text if helper else "")


def _attribute(tree: Tree, node: ast.expr | ast.stmt) -> tuple[ast.stmt, ast.ClassDef, str, ast.expr]:
    statement = tree.statement(node)
    owner = tree.parents.get(statement)
    if not isinstance(owner, ast.ClassDef):
        raise CannotMend("it is not in the body of the class itself")
    if not isinstance(tree.parents[owner], ast.Module):
        raise CannotMend(f"the class {owner.name} is nested in something else")
    target, value = target_of(statement), getattr(statement, "value", None)
    if target is None or value is None:
        raise CannotMend("it is not the value of a single attribute")
    return statement, owner, target, value


def _refuse_what_reads_the_body(owner: ast.ClassDef) -> None:
    if owner.keywords:
        raise CannotMend(f"the class {owner.name} is made with keywords, which may read its body")
    for decorator in owner.decorator_list:
        raise CannotMend(f"`@{ast.unparse(decorator).partition('(')[0]}` may read the body of {owner.name}")
    for base in owner.bases:
        name = _last_name(base)
        if name in _READING_BASES:
            raise CannotMend(f"{name} reads the body of {owner.name} while the class is made")


def _last_name(base: ast.expr) -> str:
    node = base.value if isinstance(base, ast.Subscript) else base
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _refuse_other_uses(tree: Tree, owner: ast.ClassDef, statement: ast.stmt, target: str) -> None:
    for each in ast.walk(owner):
        if isinstance(each, ast.Name) and each.id == target and tree.scope(each) is owner:
            if statement not in (each, *tree.above(each)):
                raise CannotMend(f"the class body uses `{target}` again, in line {each.lineno}")
    if target.startswith("__") or "__slots__" in bound(owner):
        raise CannotMend(f"`{target}` is looked up in the class itself")


def _doubts(tree: Tree, owner: ast.ClassDef) -> list[str]:
    own = {node.name: node for node in tree.root.body if isinstance(node, ast.ClassDef)}
    seen: set[str] = set()
    waiting = [owner]
    while waiting:
        current = waiting.pop()
        for base in current.bases:
            name = _last_name(base)
            if name in _PLAIN_BASES or name in seen:
                continue
            seen.add(name)
            if name not in own:
                return [f"what `{ast.unparse(base)}` does with the body of {owner.name} is not known"]
            if own[name].keywords or any(
                getattr(node, "name", "") == "__init_subclass__" for node in own[name].body
            ):
                return [f"`{name}` may read the body of {owner.name}"]
            waiting.append(own[name])
    return []
