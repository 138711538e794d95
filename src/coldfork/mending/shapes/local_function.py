"""A lambda, or a local function or class, that is sent to a process, moved to the level of its module.

What a function reads of those around it becomes its first parameters, which `functools.partial` binds.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator

from coldfork.mending.draft import STEP, Draft, above_body, dedented, patched, with_import
from coldfork.mending.project import Case
from coldfork.mending.site import Scope, Tree, bound, is_target, loads
from coldfork.mending.text import CannotMend, Replacement
from coldfork.source.files.reading import NOTEBOOK

Moved = ast.FunctionDef | ast.ClassDef | ast.Lambda
_LOCAL = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_NAMED = re.compile(r"the local (?:function|class) (\w+)")
_DOUBT = "what it reads of the function around it is taken when it is made, and must be picklable, too"


def draft(case: Case, node: ast.expr | ast.stmt) -> tuple[str, Draft]:
    """Move what is sent to module level."""
    match = _NAMED.search(_words(case))
    if match is None:
        return case.finding.path, _of_lambda(case.tree, _lambda(case, node))
    path, tree, found = _definition(case, match[1])
    if path.endswith(NOTEBOOK):
        raise CannotMend("a fresh process does not find what a notebook defines")
    return path, _of_definition(tree, found)


def is_needed(case: Case) -> bool:
    """Return whether a fresh process could not be sent what a forked one gets here."""
    return re.search(r"the local (?:function|class) |a lambda ", _words(case)) is not None


def _words(case: Case) -> str:
    """Return what the finding says of what is sent."""
    finding = case.finding
    is_sent = finding.rule == "unpicklable-target"
    return finding.message if is_sent else f"{finding.remedy} {finding.consequence}"


def _definition(case: Case, name: str) -> tuple[str, Tree, ast.FunctionDef | ast.ClassDef]:
    """Return the only local function or class of this name, from the file of the finding if it is there."""
    for path in dict.fromkeys((case.finding.path, *case.project.modules.values())):
        if f" {name}".encode() not in case.project.read(path):
            continue
        tree = case.project.tree(path)
        named: list[ast.FunctionDef | ast.ClassDef] = [*tree.nodes(ast.FunctionDef)]
        named += tree.nodes(ast.ClassDef)
        found = [each for each in named if each.name == name and tree.functions(each)]
        if len(found) == 1:
            return path, tree, found[0]
        if found:
            raise CannotMend(f"{path} has more than one local {name}")
    raise CannotMend(f"{name} is not found in a function")


def _lambda(case: Case, node: ast.expr | ast.stmt) -> ast.Lambda:
    """Return the only lambda in the finding's lines, or in the variables that these read."""
    tree = case.tree
    last = node.lineno if hasattr(node, "body") else node.end_lineno or node.lineno
    rows = range(node.lineno, last + 1)
    found = [each for each in tree.nodes(ast.Lambda) if each.lineno in rows]
    if not found:
        read = {each.id for each in tree.nodes(ast.Name) if each.lineno in rows}
        scope = tree.scope(node)
        for each in tree.nodes(ast.Assign):
            names = {target.id for target in each.targets if isinstance(target, ast.Name)}
            if names & read and tree.scope(each) is scope:
                found += (one for one in ast.walk(each.value) if isinstance(one, ast.Lambda))
    if len(found) != 1:
        raise CannotMend(f"its lines hold {len(found) or 'no'} lambdas")
    return found[0]


def _of_lambda(tree: Tree, found: ast.Lambda) -> Draft:
    source, parent = tree.source, tree.parents[found]
    word = "task"
    if isinstance(parent, ast.keyword) and parent.arg:
        word = parent.arg
    elif isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
        word = parent.targets[0].id
    given, imports = _apart(tree, found, _enclosed(tree, found))
    if imports:
        raise CannotMend(f"the lambda needs `{imports[0]}`")
    name = _free_name(tree, found, word, is_kept=isinstance(parent, ast.Assign))
    taken = ", ".join(filter(None, [*given, ast.unparse(found.args)]))
    body = source.of(found.body)
    if len(body.splitlines()) > 1 and not body.startswith("("):
        body = f"({body})"
    text = f"def {name}({taken}):{source.newline}{STEP}return {body}"
    edits = [_above(tree, found, text), Replacement(*source.span(found), _used(name, given))]
    return _drafted(tree, edits, given, name)


def _of_definition(tree: Tree, found: ast.FunctionDef | ast.ClassDef) -> Draft:
    source, owner = tree.source, tree.functions(found)[-1]
    if found.decorator_list:
        raise CannotMend(f"{found.name} has a decorator")
    taken = {each.arg for each in ast.walk(owner.args) if isinstance(each, ast.arg)}
    if len(list(_bound_at(tree, owner, found.name))) != 1 or found.name in taken:
        raise CannotMend(f"`{found.name}` is bound more than once")
    given, imports = _apart(tree, found, _enclosed(tree, found))
    name = _free_name(tree, found, found.name, is_kept=bool(given))
    uses = [each for each in ast.walk(owner) if isinstance(each, ast.Name) and each.id == found.name]
    depth = len(tree.functions(found))
    uses = [one for one in uses if not any(one.id in bound(each) for each in tree.functions(one)[depth:])]
    inside = [each for each in uses if found in tree.above(each)]
    if isinstance(found, ast.ClassDef) and (given or imports):
        raise CannotMend(f"{found.name} reads `{[*given, *imports][0]}` of the function around it")
    if given and inside:
        raise CannotMend(f"{found.name} calls itself, and reads `{given[0]}` of the function around it")
    inner = [*_signed(tree, found, name, given), *_importing(tree, found, imports)]
    inner += (Replacement(*source.span(each), name) for each in inside)
    first, last = found.lineno, found.end_lineno or found.lineno
    while source.line(first - 1).lstrip().startswith("#"):
        first -= 1
    indent = source.indent(found.lineno)
    text = patched(source, found, inner, first) + source.comment_behind(found)
    gone = f"{indent}{found.name} = {_used(name, given)}{source.newline}" if given else ""
    if not given and len(getattr(tree.parents[found], "body", [])) == 1:
        gone = f"{indent}pass{source.newline}"
    edits = [_above(tree, found, dedented(text, indent, source.newline))]
    edits.append(Replacement(source.line_start(first), source.line_start(last + 1), gone))
    if not given and name != found.name:
        edits += (Replacement(*source.span(each), name) for each in uses if each not in inside)
    return _drafted(tree, edits, given, name)


def _signed(
    tree: Tree, found: ast.FunctionDef | ast.ClassDef, name: str, given: list[str]
) -> Iterator[Replacement]:
    """Yield the replacements in the signature: the name, and what becomes the first parameters."""
    source = tree.source
    head = re.compile(rf"(?:def|class)\s+(?={found.name}\b)").match(source.text, source.span(found)[0])
    if head is None or getattr(found, "type_params", None):
        raise CannotMend(f"the signature of {found.name} is not understood")
    yield Replacement(head.end(), head.end() + len(found.name), name)
    if given and isinstance(found, ast.FunctionDef):
        taken = [*found.args.posonlyargs, *found.args.args]
        more = taken or found.args.vararg or found.args.kwonlyargs or found.args.kwarg
        at = source.span(taken[0])[0] if taken else source.text.index("(", head.end()) + 1
        yield Replacement(at, at, ", ".join(given) + (", " if more else ""))


def _importing(
    tree: Tree, found: ast.FunctionDef | ast.ClassDef, imports: list[str]
) -> Iterator[Replacement]:
    """Yield the insertion of imports at the top of a function's body."""
    if imports and isinstance(found, ast.FunctionDef):
        if found.body[0].lineno == found.lineno:
            raise CannotMend(f"the body of {found.name} shares the line of its signature")
        place, indent = above_body(tree, found)
        yield Replacement(place, place, "".join(f"{indent}{row}{tree.source.newline}" for row in imports))


def _apart(tree: Tree, found: Moved, names: list[str]) -> tuple[list[str], list[str]]:
    """Divide the variables that a function reads: those to be given to it, and the imports of the others,
    since modules cannot be pickled.
    """
    imports: dict[str, str] = {}
    scopes: list[Scope] = [*tree.functions(found)] or [tree.root]
    for each in (node for scope in scopes for node in ast.walk(scope)):
        if not isinstance(each, (ast.Import, ast.ImportFrom)) or (owner := tree.scope(each)) not in scopes:
            continue
        for alias in each.names:
            alone: ast.stmt = ast.Import([alias])
            if isinstance(each, ast.ImportFrom):
                alone = ast.ImportFrom(each.module, [alias], each.level)
            name = (alias.asname or alias.name).partition(".")[0]
            if name in names and len(list(_bound_at(tree, owner, name))) > 1:
                raise CannotMend(f"`{name}` is imported or something else")
            imports[name] = ast.unparse(alone)
    return [one for one in names if one not in imports], [imports[one] for one in names if one in imports]


def _drafted(tree: Tree, edits: list[Replacement], given: list[str], name: str) -> Draft:
    more = with_import(tree, "functools") if given else []
    return Draft((*edits, *more), (_DOUBT if given else "its name and its module's names change",), name=name)


def _used(name: str, given: list[str]) -> str:
    return f"functools.partial({', '.join([name, *given])})" if given else name


def _free_name(tree: Tree, found: Moved, word: str, is_kept: bool) -> str:
    """Return a private name for what is moved, which nothing else in the file has.

    The word itself will do if it is private, unless the function around keeps it for a variable.
    """
    others = {each.id for each in tree.nodes(ast.Name)} | {each.arg for each in tree.nodes(ast.arg)}
    if not is_kept:
        others -= {word}
    around = getattr(tree.functions(found)[-1], "name", "") if tree.functions(found) else ""
    first, second = word if word.startswith("_") else f"_{word}", f"_{around}_{word}".replace("__", "_")
    name = next((one for one in (first, second) if one not in others | bound(tree.root)), None)
    if name is None:
        raise CannotMend(f"the file has a `{first}` and a `{second}` of its own")
    return name


def _above(tree: Tree, found: Moved, text: str) -> Replacement:
    """Return the insertion of a definition above the module's statement that contains it."""
    source, top = tree.source, tree.top(found)
    line = min([top.lineno, *(each.lineno for each in getattr(top, "decorator_list", ()))])
    while line > 1 and source.line(line - 1).startswith("#"):
        line -= 1
    start = source.line_start(line)
    return Replacement(start, start, f"{text}{source.newline * 3}")


def _enclosed(tree: Tree, found: Moved) -> list[str]:
    """Return the variables around a definition that it reads, in order; refuse what would mean another thing
    at module level.
    """
    is_inside = any(isinstance(each, ast.ClassDef) for each in tree.above(found))
    for each in ast.walk(found):
        name = getattr(each, "id", None) or getattr(each, "attr", None) or ""
        is_private = name.startswith("__") and not name.endswith("__")
        is_private = is_inside and (is_private or name in ("__class__", "super"))
        if is_private and not isinstance(found, ast.ClassDef):
            raise CannotMend(f"`{name}` would mean something else outside its class")
        if isinstance(each, (ast.Nonlocal, ast.Global)):
            raise CannotMend(f"it changes `{each.names[0]}`")
    around, top = tree.functions(found), tree.top(found)
    body = tree.root.body
    ahead = bound(ast.Module(body[: body.index(top)], []))
    read: dict[str, None] = {}
    for each in loads(found):
        if _is_own(tree, each, found):
            continue
        owner: Scope | None = next((one for one in reversed(around) if each.id in bound(one)), None)
        if is_target(tree, each):
            raise CannotMend(f"a comprehension around it binds `{each.id}`")
        if owner is None and not around and each.id in bound(ast.Module([top], [])):
            owner = tree.root  # a fresh process does not have what stands under a main guard
        is_now = len(tree.functions(each)) == len(around)
        if is_now and (owner is not None or not (each.id in ahead or hasattr(builtins, each.id))):
            raise CannotMend(f"it needs `{each.id}` when it is defined")
        if owner is None or each.id == getattr(found, "name", ""):
            continue
        if any(line >= found.lineno for line in _bound_at(tree, owner, each.id)):
            raise CannotMend(f"`{each.id}` is bound again below it")
        if any(isinstance(one, _LOCAL) and one.name == each.id for one in ast.walk(owner)):
            raise CannotMend(f"it needs `{each.id}`, which is local, too")
        read[each.id] = None
    return list(read)


def _is_own(tree: Tree, node: ast.Name, found: Moved) -> bool:
    """Return whether a name belongs to what is moved."""
    inside = tree.functions(node)[len(tree.functions(found)) :]
    if any(node.id in bound(each) for each in inside):
        return True
    below = list(tree.above(node))
    below = below[: below.index(found)] if found in below else []
    kinds = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    targets = (part.target for each in below if isinstance(each, kinds) for part in each.generators)
    if any(
        name.id == node.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)
    ):
        return True
    return isinstance(found, ast.ClassDef) and not inside and node.id in bound(found)


def _bound_at(tree: Tree, owner: Scope, name: str) -> Iterator[int]:
    """Yield the lines at which statements of a scope bind a name."""
    for each in ast.walk(owner):
        own = getattr(each, "name", None) or (getattr(each, "id", None) if _stores(each) else None)
        if isinstance(each, ast.alias):
            own = (each.asname or each.name).partition(".")[0]
        if own == name and each is not owner and tree.scope(each) is owner:
            yield getattr(each, "lineno", 0)
        elif isinstance(each, ast.Nonlocal) and name in each.names:
            yield each.lineno


def _stores(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
