"""Changes a small package without changing what it is about: an analyser's answer has to move along.

All functions are pure. A package is a mapping from paths to texts; `# expect: RULE` comments mark the lines
that have to be named, and every change carries them to where the culprit then stands. See `relocate` too.
"""

from __future__ import annotations

import ast
import builtins
import io
import keyword
import random
import re
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

Package = Mapping[str, str]

EXPECTED = re.compile(r"#\s*expect:\s*([\w-]+)")
SYLLABLES = ("ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "zu")


@dataclass(frozen=True, slots=True, order=True)
class Expectation:
    """A rule that has to speak, and where."""

    path: str
    line: int
    rule: str


def load(folder: Path) -> dict[str, str]:
    """Read the Python files of a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*.py"))
    }


def write(package: Package, folder: Path) -> None:
    """Write a package below a folder."""
    for name, text in package.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def expectations(package: Package) -> tuple[Expectation, ...]:
    """The lines that have to be named, in order."""
    return tuple(
        sorted(
            Expectation(path, number, match[1])
            for path, text in package.items()
            for number, line in enumerate(text.splitlines(), 1)
            for match in EXPECTED.finditer(line)
        )
    )


# --- names ------------------------------------------------------------------------------------------------


def rename(package: Package, seed: int = 0) -> dict[str, str]:
    """Give every module and every symbol that the package defines another name, everywhere at once.

    Names that mean something to the outside keep it: builtins, dunders, what is imported from elsewhere, and
    every attribute asked of an imported module.
    """
    mapping = new_names(package, seed)
    return {_renamed_path(path, mapping): _renamed_text(text, mapping) for path, text in package.items()}


def new_names(package: Package, seed: int = 0) -> dict[str, str]:
    """Which name becomes which; no new name is in use already."""
    trees = [ast.parse(text) for text in package.values()]
    modules = {part for path in package for part in _module_parts(path)}
    own = modules | {name for tree in trees for name in _defined(tree)}
    kept = {name for tree in trees for name in _foreign(tree, modules)}
    taken = {token.string for text in package.values() for token in _tokens(text)} | set(dir(builtins))
    chooser = random.Random(seed)
    mapping: dict[str, str] = {}
    for name in sorted(own - kept):
        if (
            hasattr(builtins, name)
            or keyword.iskeyword(name)
            or (name.startswith("__") and name.endswith("__"))
        ):
            continue
        mapping[name] = _new_name(name, chooser, taken)
    return mapping


def _new_name(name: str, chooser: random.Random, taken: set[str]) -> str:
    """A made-up word, as private and as capital as the old one."""
    while True:
        word = "".join(chooser.choices(SYLLABLES, k=4))
        word = (
            word.upper() if name.isupper() else word.capitalize() if name.lstrip("_")[:1].isupper() else word
        )
        word = "_" * (len(name) - len(name.lstrip("_"))) + word
        if word not in taken:
            taken.add(word)
            return word


def _module_parts(path: str) -> list[str]:
    parts = path.removesuffix(".py").split("/")
    return [part for part in parts if part != "__init__"]


def _defined(tree: ast.Module) -> Iterator[str]:
    """Names a module binds itself: definitions, parameters, assignments, loop variables."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.arg():
                yield node.arg
            case ast.Name(ctx=ast.Store()):
                yield node.id
            case ast.Attribute(ctx=ast.Store()):
                yield node.attr


def _foreign(tree: ast.Module, modules: set[str]) -> Iterator[str]:
    """Names that belong to the outside: imported from elsewhere, or asked of something that was."""
    outside: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                root = alias.name.partition(".")[0]
                if root not in modules:
                    yield from alias.name.split(".")
                    outside.add(alias.asname or root)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            parts = (node.module or "").split(".")
            if parts[0] in modules:
                continue
            yield from parts
            for alias in node.names:
                yield alias.name
                outside.add(alias.asname or alias.name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _root(node) in outside | {None}:
            yield node.attr
        if isinstance(node, ast.Call) and _root(node.func) in outside:
            yield from (word.arg for word in node.keywords if word.arg is not None)
    yield from outside


def _root(node: ast.expr) -> str | None:
    """The name at the root of `a.b.c`; None when it is no name, such as a call's result or a literal."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _renamed_path(path: str, mapping: Mapping[str, str]) -> str:
    parts = path.removesuffix(".py").split("/")
    return "/".join(mapping.get(part, part) for part in parts) + ".py"


def _renamed_text(text: str, mapping: Mapping[str, str]) -> str:
    lines = text.splitlines(keepends=True)
    for token in reversed(list(_tokens(text))):
        if token.type == tokenize.NAME and token.string in mapping:
            fresh = mapping[token.string]
        elif token.type == tokenize.STRING and token.start[0] == token.end[0]:
            fresh = _renamed_string(token.string, mapping)
        else:
            continue
        row, start, end = token.start[0] - 1, token.start[1], token.end[1]
        lines[row] = lines[row][:start] + fresh + lines[row][end:]
    return "".join(lines)


def _renamed_string(literal: str, mapping: Mapping[str, str]) -> str:
    """Rename within a string that is nothing but a dotted name, as in `__all__` or `import_module`."""
    match = re.fullmatch(r"(['\"])(\.*[A-Za-z_][\w.]*)\1", literal)
    if match is None:
        return literal
    parts = [mapping.get(part, part) for part in match[2].split(".")]
    return f"{match[1]}{'.'.join(parts)}{match[1]}"


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    return tokenize.generate_tokens(io.StringIO(text).readline)


# --- lines ------------------------------------------------------------------------------------------------


def shift(package: Package, seed: int = 0) -> dict[str, str]:
    """Put blank lines and comments between the statements."""
    chooser = random.Random(seed)
    return {path: _shifted(text, chooser) for path, text in package.items()}


def _shifted(text: str, chooser: random.Random) -> str:
    starts = statement_lines(ast.parse(text))
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        if number in starts:
            indent = line[: len(line) - len(line.lstrip())]
            lines += chooser.choices(("\n", f"{indent}# a remark\n"), k=chooser.randint(0, 3))
        lines.append(line)
    return "".join(lines)


def statement_lines(tree: ast.Module) -> set[int]:
    """The lines on which statements begin, decorators counted as their beginning."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            decorators = getattr(node, "decorator_list", [])
            found.add(min([node.lineno, *(decorator.lineno for decorator in decorators)]))
    return found


# --- calls ------------------------------------------------------------------------------------------------


def deepen(package: Package) -> dict[str, str]:
    """Insert a level of calls: every plain function of a module hands on to another that does its work."""
    return {path: _deepened(text) for path, text in package.items()}


def _deepened(text: str) -> str:
    lines = text.splitlines(keepends=True)
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    for node in reversed(functions):
        if not _can_deepen(node, lines):
            continue
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1
        decorators, body = lines[first : node.lineno - 1], lines[node.lineno - 1 : node.end_lineno]
        inner = f"{node.name}_deeper"
        body[0] = re.sub(rf"\bdef\s+{node.name}\b", f"def {inner}", body[0], count=1)
        outer = [
            f"def {node.name}({ast.unparse(node.args)}):\n",
            f"    return {inner}({_passed_on(node.args)})\n",
        ]
        if not body[-1].endswith("\n"):
            body[-1] += "\n"
        lines[first : node.end_lineno] = [*body, "\n", "\n", *decorators, *outer]
    return "".join(lines)


def _can_deepen(node: ast.FunctionDef, lines: list[str]) -> bool:
    """Only where nothing changes but the depth: constant defaults, no culprit in the header."""
    defaults = [*node.args.defaults, *(one for one in node.args.kw_defaults if one is not None)]
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    header = "".join(lines[first - 1 : node.body[0].lineno - 1] or lines[first - 1 : node.lineno])
    return all(isinstance(one, ast.Constant) for one in defaults) and not EXPECTED.search(header)


def _passed_on(arguments: ast.arguments) -> str:
    words = [one.arg for one in (*arguments.posonlyargs, *arguments.args)]
    if arguments.vararg is not None:
        words.append(f"*{arguments.vararg.arg}")
    words += [f"{one.arg}={one.arg}" for one in arguments.kwonlyargs]
    if arguments.kwarg is not None:
        words.append(f"**{arguments.kwarg.arg}")
    return ", ".join(words)
