"""The skeleton is the module without its function bodies, and every span is the function standing there."""

from __future__ import annotations

import ast
import functools
import os
import random
import sysconfig
import warnings
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from coldfork.source.files.reading import CannotRead, normalise
from coldfork.source.syntax.imports import PlainImport
from coldfork.source.syntax.native.compiled import compiled_skeleton, compiled_words, up_to_date
from coldfork.source.syntax.skeleton import WORDS, Skeleton, interpreted_skeleton, interpreted_words, skeleton
from tests.amounts import LONG, examples

EXAMPLES = examples(200)
STANDARD_LIBRARY = Path(sysconfig.get_paths()["stdlib"])
Definition = ast.FunctionDef | ast.AsyncFunctionDef
#: What may run code when a header that was stripped would have been evaluated.
_RUNS = (
    ast.Call,
    ast.Await,
    ast.NamedExpr,
    ast.FormattedValue,
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
)


def parsed(source: bytes) -> ast.Module | None:
    """The tree, or None where this Python cannot parse it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(source)
        except (SyntaxError, ValueError, RecursionError):
            return None


def assert_agrees(source: bytes) -> bool:
    """The skeleton agrees with the full parse, or declines; whether it was of use."""
    full = parsed(source)
    made = skeleton(source)
    assert_twins(source)
    if full is None or made is None:
        return False
    assert made.text.count(b"\n") == source.count(b"\n"), "lines moved"
    blanked = parsed(made.text)
    if blanked is None:
        return False
    functions = {node.lineno: node for node in ast.walk(full) if isinstance(node, Definition)}
    Unfolded(functions, made).visit(blanked)
    kept = {node.lineno: node for node in ast.walk(blanked) if isinstance(node, Definition)}
    assert set(made.spans) <= set(functions), "a span where no function is"
    for line, (start, end) in made.spans.items():
        assert_same_function(source[start:end], functions[line])
        blank(functions[line], kept[line], made)
    assert ast.dump(full) == ast.dump(blanked)
    assert [node.lineno for node in statements(full)] == [node.lineno for node in statements(blanked)]
    assert [node.end_lineno for node in imports(full)] == [node.end_lineno for node in imports(blanked)]
    return True


def imports(tree: ast.Module) -> list[ast.Import | ast.ImportFrom]:
    """The import statements of a module."""
    return [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]


def as_tree(plain: PlainImport) -> ast.Import | ast.ImportFrom:
    """An import that was left out, as Python would have parsed it."""
    line, last, module, level, names = plain
    listed = ", ".join(f"{name} as {alias}" if alias else name for name, alias in names)
    text = f"import {listed}" if level < 0 else f"from {'.' * level}{module or ''} import {listed}"
    (made,) = ast.parse(text).body  # newer Pythons give these nodes more fields
    assert isinstance(made, (ast.Import, ast.ImportFrom))
    made.lineno, made.end_lineno = line, last
    return made


def assert_twins(source: bytes) -> None:
    """The compiled skeleton and the one in Python are the same, their names and lines in the same order."""
    if compiled_skeleton is None:
        return
    compiled, interpreted = compiled_skeleton(source), interpreted_skeleton(source)
    assert compiled == interpreted
    if compiled is not None and interpreted is not None:
        assert [list(part) for part in compiled[1:]] == [list(part) for part in interpreted[1:]]


class Unfolded(ast.NodeTransformer):
    """Puts functions back where one assignment stands for a run of them, and imports for a `pass`."""

    def __init__(self, functions: Mapping[int, Definition], made: Skeleton) -> None:
        self.functions = functions
        self.runs = made.runs
        self.imports = made.imports

    def visit_Pass(self, node: ast.Pass) -> ast.Pass | list[ast.Import | ast.ImportFrom]:
        return [as_tree(plain) for plain in self.imports.get(node.lineno, ())] or node

    def visit_Assign(self, node: ast.Assign) -> ast.Assign | list[Definition]:
        lines = self.runs.get(node.lineno)
        if lines is None:
            return node
        assert ast.dump(node.value) == ast.dump(ast.Constant(0))
        return [self.named(target, line) for target, line in zip(node.targets, lines, strict=True)]

    def named(self, target: ast.expr, line: int) -> Definition:
        assert isinstance(target, ast.Name)
        (made,) = ast.parse(f"def {target.id}(): 0").body
        assert isinstance(made, ast.FunctionDef)
        if isinstance(self.functions[line], ast.AsyncFunctionDef):
            made = ast.AsyncFunctionDef(**vars(made))
        made.lineno = line
        return made


def outermost(tree: ast.AST) -> list[Definition]:
    """Functions that stand in no other function."""
    found: list[Definition] = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Definition):
            found.append(node)
        else:
            found += outermost(node)
    return found


def statements(tree: ast.AST) -> list[ast.stmt]:
    """Statements outside functions, in order."""
    found: list[ast.stmt] = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.stmt):
            found.append(node)
        if not isinstance(node, Definition):
            found += statements(node)
    return found


def assert_same_function(text: bytes, function: Definition) -> None:
    """Require that a span parses to the very function, decorators aside."""
    indented = text[:1] in (b" ", b"\t")
    tree = parsed(b"if 1:\n" + text if indented else text)
    assert tree is not None, f"a span that does not parse: {text!r}"
    node = tree.body[0]
    if indented:
        assert isinstance(node, ast.If)
        node = node.body[0]
    assert isinstance(node, Definition)
    decorators, function.decorator_list = function.decorator_list, []
    assert ast.dump(node) == ast.dump(function)
    function.decorator_list = decorators


def blank(function: Definition, kept: Definition, made: Skeleton) -> None:
    """Do to the full tree what the skeleton did to the text."""
    function.body = [ast.Expr(ast.Constant(0))]
    header = [function.args, *([function.returns] if function.returns is not None else [])]
    left = [kept.args, *([kept.returns] if kept.returns is not None else [])]
    if [ast.dump(part) for part in header] == [ast.dump(part) for part in left]:
        return
    nothing = ast.arguments([], [], None, [], [], None, [])
    assert [ast.dump(part) for part in left] == [ast.dump(nothing)], "half a header"
    for part in header:
        for node in ast.walk(part):
            assert not isinstance(node, _RUNS), (
                f"a header with code in it was stripped: {ast.unparse(function.args)}"
            )
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                names = [name for name in made.header_names if name.startswith(f"{node.value.id}.".encode())]
                assert names, "a dotted name of a stripped header was lost"
    function.args, function.returns = kept.args, kept.returns
    if "type_params" in vars(kept):  # from 3.12 on; a type parameter is evaluated when it is asked for
        vars(function)["type_params"] = vars(kept)["type_params"]


# -- generated text --------------------------------------------------------------------------------------

NAMES = st.sampled_from(["f", "define", "größe", "名", "_x", "undef", "default_def", "print"])
FRAGMENTS = st.sampled_from(
    ["", "def f():", "    def g(self):", "#", "'", '"', "\\\\", "\\'", '\\"', "\\n", "é", "(", ")", ":",
     "return 1", "{", "'''", '"""', "class A:", "\\\\'", "x = 'y'", "@", " def h(a, b): pass"]
)  # fmt: skip
INDENTS = st.sampled_from(["    ", "  ", "\t", " ", "        "])


@st.composite
def strings(draw: st.DrawFn) -> str:
    """A string literal on one line or on several."""
    quote = draw(st.sampled_from(["'", '"', "'''", '"""']))
    prefix = draw(st.sampled_from(["", "r", "b", "f", "u", "rb", "R", "Rb"]))
    separator = draw(st.sampled_from([" ", "\n"])) if len(quote) == 3 else " "
    text = separator.join(draw(st.lists(FRAGMENTS, max_size=4)))
    if "b" in prefix.lower():
        text = text.replace("é", "e")
    if "f" in prefix:
        text = text.replace("{", "{{")
    literal = f"{prefix}{quote}{text}{quote}"
    assume(parsed(f"x = {literal}\n".encode()) is not None)
    return literal


@st.composite
def expressions(draw: st.DrawFn) -> str:
    """A simple expression, perhaps over several lines."""
    return draw(
        st.one_of(
            st.sampled_from(
                [
                    "1",
                    "None",
                    "ask()",
                    "a.b.c",
                    "[\n1,\n2]",
                    "(\n# def f():\n1)",
                    "lambda: 0",
                    "{'a': ')'}",
                    "x if y else z",
                ]
            ),
            strings(),
            strings().map(lambda text: f"f({text},\n  {text})"),
            strings().map(lambda text: f"[{text}] \\\n + [2]"),
        )
    )


@st.composite
def parameters(draw: st.DrawFn, indent: str) -> str:
    """Draw the text between the parentheses of a header."""
    parts: list[str] = []
    for number in range(draw(st.integers(0, 3))):
        part = f"a{number}"
        part += draw(
            st.sampled_from(["", ": int", ": 'str'", ": a.B", ": list[int]", ": f()", ": dict[str, 'x(y']"])
        )
        if draw(st.integers(0, 3)) == 3:
            part += f" = {draw(expressions())}"
        elif parts and "=" in parts[-1]:
            part += "=1"
        parts.append(part)
    usual = [", ", f",\n{indent}    "]
    separator = draw(st.sampled_from([*usual * 2, ",\n", ",  # ) def '\n      ", ", \\\n"]))
    return separator.join(parts) + draw(st.sampled_from(["", "", ",\n"])) if parts else ""


SIMPLE = (
    *("pass", "x += 1", "assert x, 'def f():'", "x = \\\n  1", "", "import a.b", "import a.b as c, d"),
    *(
        "from . import a",
        "from ..a.b import (  # c, )\n  c as d,\n\n e # )\n)  # f",
        "from a import b; c = 1",
    ),
    *("from a import *", "import a, \\\n b", "from __future__ import annotations", "from a import (b), c"),
)


@st.composite
def blocks(draw: st.DrawFn, indent: str, depth: int) -> list[str]:
    """Lines of a block."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        lines += draw(some_statement(indent, depth))
    return lines


@st.composite
def some_statement(draw: st.DrawFn, indent: str, depth: int) -> list[str]:
    """One statement with what may stand around it."""
    kinds = ["expression", "assign", "comment", "string", "simple"]
    if depth:
        kinds += ["def", "def", "def", "class", "if", "try", "one-line", "decorated", "with"]
    kind = draw(st.sampled_from(kinds))
    deeper = indent + draw(INDENTS)
    if kind == "expression":
        return [f"{indent}{draw(expressions())}"]
    if kind == "assign":
        return [
            f"{indent}{draw(NAMES)} = {draw(expressions())}"
            + draw(st.sampled_from(["", "; y = 1", "  # def 'x", " ;"]))
        ]
    if kind == "comment":
        where = draw(st.sampled_from([indent, "", deeper, "  "]))
        return [f"{where}# {draw(FRAGMENTS)}", f"{indent}pass"]
    if kind == "string":
        return [f"{indent}{draw(strings())}"]
    if kind == "simple":
        return [
            indent + draw(st.sampled_from(SIMPLE)) or "pass",
            f"{indent}pass",
        ]
    body = draw(blocks(deeper, depth - 1))
    body = [
        *draw(st.sampled_from([[], [""], ["# at the margin"], ["   "], [f"{deeper}'''a\ndef b():\n'''"]])),
        *body,
    ]
    if kind == "class":
        return [f"{indent}class {draw(NAMES)}({draw(st.sampled_from(['', 'A', 'f()']))}):", *body]
    if kind == "if":
        other = draw(blocks(deeper, 0))
        return [f"{indent}if {draw(expressions())}:", *body, f"{indent}else:", *other]
    if kind == "try":
        return [f"{indent}try:", *body, f"{indent}except E as e:", f"{deeper}pass", f"{indent}finally: pass"]
    if kind == "with":
        return [f"{indent}with {draw(expressions())} as x:", *body]
    head = draw(st.sampled_from(["def"] * 6 + ["async def"] * 2 + ["def ", "async  def", "def\t"]))
    returns = draw(st.sampled_from(["", " -> int", " -> 'a(b'", " -> a.B", " -> f()"]))
    space = draw(st.sampled_from(["", "", "", " ", "  "]))
    header = f"{indent}{head} {draw(NAMES)}{space}({draw(parameters(indent))}){returns}"
    if kind == "one-line":
        return [f"{header}: " + draw(st.sampled_from(["pass", "return 1", "...; x = 1", "return [\n1]"]))]
    colon = draw(st.sampled_from([":", " :", ":  # def x():", ": "]))
    lines = [f"{header}{colon}", *body]
    if kind == "decorated":
        lines = [f"{indent}@" + draw(st.sampled_from(["a", "a.b", "a(1)", "a(\n1)", "a  # def"])), *lines]
    return lines


@st.composite
def modules(draw: st.DrawFn) -> bytes:
    """Source text of a module."""
    lines = draw(blocks("", 3))
    text = "\n".join(lines)
    text += draw(st.sampled_from(["\n", "", "\n\n", "\n# def", "\n\\\n", "  "]))
    return text.encode()


BY_HAND = (
    b"def f():\n    return 1\n# a comment\n    # another\nx = 1\n",
    b"class A:\n\tdef f(self):\n\t\treturn 1\n\tx = 2\n",
    b"def f(x=f'{ask()}'):\n    pass\n",
    b"def f(x: 'a(b' = ')'):\n    pass\n",
    b"if x:\n  def f(): return 1\nelse:\n  def f():\n      return '''\ndef g():\n'''\n",
    b'x = \'it\'\'s\' """def f():\n  pass"""\ndef g():\n    pass\n',
    b"def f():\n    x = 1 + \\\n2\n    return x\ny = 1\n",
    b"def f():\n    x = (\n1)\n    return x\ny = 1\n",
    b"def f():\n    x = '''\n''' + (\ng())\ndef h(): pass\n",
    b"async def f():\n    pass\nawaited = 1\n",
    b"def f[T](x: T) -> T:\n    return x\n",
    b"def f(\n    x,  # it's )\n    y='#',\n):\n    return 1\n",
    b"def f():\n    pass\n    \x0cx = 1\n",
    b"class A:\n    def f(self):\n        pass\n        \x0c    x = 1\n",
    b'x = """\ndef f():\n    pass\n"""\n',
    b"x = '''\ndef f():\n    pass\n'''\n",
    b'def f():\n    x = """\nnot the end\n"""\n    return x\ny = 1\n',
    b"def f():\n    x = '''\nnot the end\n'''\n    return x\ny = 1\n",
    b"'''a'''\ndef f():\n    pass\n'''b\nc\n'''\nx = 1\n",
    b'"""a"""\ndef f():\n    pass\n"""b\nc\n"""\nx = 1\n"""d"""\n',
    b"x = [\nimport a\n]\n",
    b"x = (yield\nimport a\n)\n",
    b"@a\nimport b\ndef f():\n    pass\n",
    b"if x:\nimport a\n",
    b"x = \\\nimport a\n",
    b"x = '\\\nimport a\n'\n",
    b'"""\nimport a\n"""\nimport b\n',
    b"import a\n# b\nimport c\nx = 1\nimport d\nfrom e import (f,\n  g,  # )\n)\n",
    b"import a\ndef b():\n    pass\nimport c\nimport d\n",
    b"from a import None\n",
    b"import as\nimport a.if\nfrom in import b\n",
    b"from  import a\n",
)


@pytest.mark.once
def test_generated_text_agrees_or_is_declined() -> None:
    """And most of it is good for something: texts that are all declined would prove nothing."""
    used: list[bool] = []

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(modules())
    def look(raw: bytes) -> None:
        source = normalise(raw)
        assert_agrees(source)
        if parsed(source) is not None and b"def " in source:
            made = skeleton(source)
            used.append(made is not None and bool(made.spans) and parsed(made.text) is not None)

    look()
    assert len(used) > 0.4 * EXAMPLES
    assert sum(used) > len(used) / 3


#: What a skeleton looks at, and what stands around it.
_TOKENS = (
    *("def ", "async def ", "async", "class A:", "f", "name", "a.b", "a.b.1c", "é", "lambda", "await"),
    *("=", "->", "(", ")", "[", "]", "{", "}", ":", ",", ".", "@", ";", "0", "#", "'", '"', "'''", '"""'),
    *("import ", "from ", " import ", " as ", "import", "from a.b import (", "__future__", "None"),
    *("import a\n", "import a.b as c, d\n", "from . import a\n"),
    *("\\", "r", "F", " ", "  ", "    ", "\t", "\v", "\n", "\n", "\n    ", ":\n        ", "():\n    "),
)  # fmt: skip


@pytest.mark.once
@pytest.mark.skipif(compiled_skeleton is None, reason="nothing was compiled for this Python")
def test_the_compiled_skeleton_is_the_interpreted_one_for_any_tokens() -> None:
    @settings(max_examples=examples(2) * EXAMPLES, deadline=None, database=None)
    @given(st.lists(st.sampled_from(_TOKENS), max_size=60))
    def look(tokens: list[str]) -> None:
        assert_twins(normalise("".join(tokens).encode()))

    look()


@pytest.mark.once
@pytest.mark.skipif(compiled_words is None, reason="nothing was compiled for this Python")
def test_the_compiled_words_are_the_interpreted_ones() -> None:
    assert compiled_words is not None
    letters = sorted({bytes([letter]) for word in WORDS for letter in word})

    @settings(max_examples=examples(2) * EXAMPLES, deadline=None, derandomize=not LONG, database=None)
    @given(st.lists(st.sampled_from([*WORDS, *(word[:-1] for word in WORDS), *letters]), max_size=12))
    def look(parts: list[bytes]) -> None:
        source = b"".join(parts)
        assert compiled_words(source) == interpreted_words(source)

    look()
    for bit, word in enumerate(WORDS):
        assert compiled_words(word) == compiled_words(b"x" + word + b"x") == 1 << bit


def test_what_was_compiled_from_other_source_is_not_used(tmp_path: Path) -> None:
    source = tmp_path / "skeleton.c"
    source.write_bytes(b"int one;")
    assert not up_to_date("", source)
    assert up_to_date(blake2b(b"int one;", digest_size=16).hexdigest(), source)
    source.write_bytes(b"int two;")
    assert not up_to_date(blake2b(b"int one;", digest_size=16).hexdigest(), source)
    source.unlink()
    assert not up_to_date("", source)


@pytest.mark.parametrize("raw", BY_HAND)
def test_text_that_was_once_misread_agrees_or_is_declined(raw: bytes) -> None:
    assert_agrees(normalise(raw))


@pytest.mark.parametrize(
    "raw",
    [
        b"x = [\nimport a\n]\n",
        b"@a\nimport b\ndef f():\n    pass\n",
        b"if x:\nimport a\n",
        b"from a import None\n",
        b"import a.if\n",
        b"from  import a\n",
        b"from a import (b,\n  c\n",
    ],
)
def test_an_import_that_python_refuses_is_not_taken_for_a_plain_one(raw: bytes) -> None:
    assert parsed(raw) is None
    made = skeleton(raw)
    assert made is None or parsed(made.text) is None


@functools.cache
def library() -> list[Path]:
    """All files of the standard library and its tests."""
    files: list[Path] = []
    for folder, folders, names in os.walk(STANDARD_LIBRARY):
        folders[:] = [name for name in folders if name != "site-packages"]
        files += [Path(folder, name) for name in names if name.endswith(".py")]
    return sorted(files)


def library_sample(most: int) -> list[Path]:
    """Some of them, the same ones every time."""
    return random.Random(0).sample(library(), min(most, len(library())))


@pytest.mark.parametrize("path", library_sample(examples(60)), ids=lambda path: path.name)
def test_the_standard_library_agrees(path: Path) -> None:
    try:
        source = normalise(path.read_bytes())
    except CannotRead:
        return
    assert_agrees(source)


def test_most_files_of_the_standard_library_get_a_skeleton() -> None:
    """Declining is always right and never fast."""
    used: list[bool] = []
    for path in library_sample(60):
        source = path.read_bytes()
        tree = parsed(source)
        if tree is not None and outermost(tree):
            made = skeleton(source)
            used.append(made is not None and bool(made.spans) and parsed(made.text) is not None)
    assert sum(used) >= 0.9 * len(used) > 30
