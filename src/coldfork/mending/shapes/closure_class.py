"""A local function that is sent to a process, replaced by a small class that holds the variables it uses."""

from __future__ import annotations

import ast
import re

from coldfork.mending.draft import Draft, is_docstring, step
from coldfork.mending.project import Case, Project
from coldfork.mending.site import Function, Tree, bound, is_target
from coldfork.mending.text import CannotMend, Replacement

_LOCAL = re.compile(r"the local function (\w+)")


def draft(case: Case) -> tuple[str, Draft]:
    """Turn the function that defines the local function into a class."""
    match = _LOCAL.search(case.finding.message)
    if match is None:
        raise CannotMend("the object sent is not a local function")
    path, tree, maker = _maker(case, match[1])
    inner = [each for each in maker.body if isinstance(each, ast.FunctionDef)]
    last = maker.body[-1]
    rest = [each for each in maker.body[:-1] if each not in inner and not is_docstring(each)]
    if not isinstance(last, ast.Return) or not isinstance(last.value, ast.Name) or last.value.id != match[1]:
        raise CannotMend(f"{maker.name} does more than return {match[1]}")
    if rest or maker.decorator_list or any(each.decorator_list for each in inner):
        raise CannotMend(f"{maker.name} does more than make {match[1]}")
    arguments = [*maker.args.posonlyargs, *maker.args.args, *maker.args.kwonlyargs]
    if maker.args.vararg or maker.args.kwarg:
        raise CannotMend(f"{maker.name} takes arbitrary arguments")
    if any(isinstance(each, ast.Nonlocal) for each in ast.walk(maker)):
        raise CannotMend(f"{match[1]} changes its enclosing variables")
    for node in ast.walk(maker):
        if isinstance(node, ast.Name) and node.id.startswith("__") and not node.id.endswith("__"):
            raise CannotMend(f"`{node.id}` would mean another name inside a class")
        if isinstance(node, ast.arg) and node.arg == "self":
            raise CannotMend(f"{maker.name} uses the name `self` for something else")
    edits = [_head(tree, maker, inner[0], arguments), _foot(tree, maker, last, arguments)]
    held = {each.arg: f"self.{each.arg}" for each in arguments}
    held |= {each.name: "self" if each.name == match[1] else f"self.{each.name}" for each in inner}
    for each in inner:
        edits += _method(tree, each, "__call__" if each.name == match[1] else each.name, held)
    return path, Draft(tuple(edits), ("the variables that the function closes over must also be picklable",))


def _maker(case: Case, name: str) -> tuple[str, Tree, ast.FunctionDef]:
    """Return the module-level function that defines a local function."""
    project: Project = case.project
    for path in (case.finding.path, *project.modules.values()):
        if f"def {name}".encode() not in project.read(path):
            continue
        tree = project.tree(path)
        for node in tree.root.body:
            if isinstance(node, ast.FunctionDef) and name in (
                getattr(each, "name", "") for each in node.body
            ):
                return path, tree, node
    raise CannotMend(f"{name} is not defined inside a module's function")


def _class_name(maker: Function) -> str:
    return "_" + "".join(part.capitalize() for part in maker.name.strip("_").split("_"))


def _head(tree: Tree, maker: ast.FunctionDef, first: ast.stmt, arguments: list[ast.arg]) -> Replacement:
    name = _class_name(maker)
    if name in bound(tree.root):
        raise CannotMend(f"the file has a `{name}` of its own")
    source, inward = tree.source, step(tree.source, maker)
    taken = "".join(f", {ast.unparse(each)}" for each in arguments)
    rows = [f"class {name}:", f"{inward}def __init__(self{taken}):"]
    rows += [f"{inward * 2}self.{each.arg} = {each.arg}" for each in arguments] or [f"{inward * 2}pass"]
    line = first.lineno
    while source.line(line - 1).lstrip().startswith("#"):
        line -= 1
    rows += ["", ""]
    return Replacement(source.line_start(maker.lineno), source.line_start(line), source.newline.join(rows))


def _foot(tree: Tree, maker: ast.FunctionDef, last: ast.stmt, arguments: list[ast.arg]) -> Replacement:
    """Return the outer function, rewritten to return an object of the new class."""
    source, inward = tree.source, step(tree.source, maker)
    positional = [each.arg for each in (*maker.args.posonlyargs, *maker.args.args)]
    named = [f"{each.arg}={each.arg}" for each in arguments if each.arg not in positional]
    head = source.text[source.span(maker)[0] : source.line_start(maker.body[0].lineno)].rstrip()
    rows = ["", head]
    if is_docstring(maker.body[0]):
        rows.append(f"{inward}{source.of(maker.body[0])}")
    rows.append(f"{inward}return {_class_name(maker)}({', '.join([*positional, *named])})")
    source.comment_behind(last)
    return Replacement(source.line_start(last.lineno), source.span(last)[1], source.newline.join(rows))


def _method(tree: Tree, function: ast.FunctionDef, name: str, held: dict[str, str]) -> list[Replacement]:
    source = tree.source
    start, _ = source.span(function)
    head = re.compile(rf"def\s+{function.name}\s*\(").match(source.text, start)
    if head is None:
        raise CannotMend(f"the signature of {function.name} is not understood")
    some = function.args.posonlyargs or function.args.args or function.args.kwonlyargs or function.args.vararg
    comma = ", " if some or function.args.kwarg else ""
    edits = [Replacement(start, head.end(), f"def {name}(self{comma}")]
    names = (node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id in held)
    edits += (Replacement(*source.span(each), held[each.id]) for each in names if not _is_own(tree, each))
    return edits


def _is_own(tree: Tree, node: ast.Name) -> bool:
    """Return whether a name belongs to a function or comprehension inside the outer function."""
    inside = tree.functions(node)[1:]
    return any(node.id in bound(each) for each in inside) or is_target(tree, node)
