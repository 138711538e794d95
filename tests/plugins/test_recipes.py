"""The code of the recipes is that of the programs that `./dev integration` runs against the real packages."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import coldfork

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = {
    "accelerate": ("accelerate_launch",),
    "celery": ("celery_tasks",),
    "dataloader": ("dataloader_polars",),
    "gunicorn": ("gunicorn_guarded", "gunicorn_later", "gunicorn_paused"),
    "lightning": ("lightning_fit",),
}


def blocks(recipe: str) -> list[ast.Module]:
    """The Python in a page."""
    text = (ROOT / "docs" / "how-to" / f"{recipe}.md").read_text(encoding="utf-8")
    return [
        ast.parse(block) for block in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    ]


def plain(node: ast.AST) -> str:
    """Code without what is for readers and type checkers alone."""
    copy = ast.parse(ast.unparse(node))
    for part in ast.walk(copy):
        if isinstance(part, ast.FunctionDef):
            part.returns = None
            for argument in (*part.args.args, part.args.kwarg):
                if argument is not None:
                    argument.annotation = None
            if ast.get_docstring(part) is not None:
                del part.body[0]
    return ast.unparse(copy)


def run_by(recipe: str) -> Iterator[str]:
    """Every statement and expression of the programs of a recipe."""
    for name in PROGRAMS[recipe]:
        program = ast.parse((ROOT / "integrations" / "programs" / f"{name}.py").read_text(encoding="utf-8"))
        for node in ast.walk(program):
            # The parts of an f-string are no code by themselves.
            if isinstance(node, (ast.stmt, ast.Call, ast.Constant)):
                yield plain(node)


@pytest.mark.parametrize("recipe", PROGRAMS)
def test_a_recipe_says_what_was_run(recipe: str) -> None:
    known = set(run_by(recipe))
    shown = [statement for block in blocks(recipe) for statement in block.body]
    assert shown
    for statement in shown:
        # What a value is called is the reader's affair.
        node = statement.value if isinstance(statement, ast.Assign) else statement
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            assert plain(node) in known, ast.unparse(statement)


@pytest.mark.parametrize("recipe", [*PROGRAMS, "vllm"])
def test_a_recipe_names_only_what_coldfork_has(recipe: str) -> None:
    text = (ROOT / "docs" / "how-to" / f"{recipe}.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\bcoldfork\.([a-z_]+)\b", text))
    assert named <= set(coldfork.__all__)
    for transcript in re.findall(r"\]\((\.\./integrations/\w+\.md)\)", text):
        assert (ROOT / "docs" / "how-to" / transcript).is_file()


@pytest.mark.parametrize("recipe", [*PROGRAMS, "vllm"])
def test_a_recipe_leads_to_its_transcript_and_its_command(recipe: str) -> None:
    text = (ROOT / "docs" / "how-to" / f"{recipe}.md").read_text(encoding="utf-8")
    assert f"(../integrations/{recipe}.md)" in text
    assert f"./dev integration {recipe}`" in text
    assert (ROOT / "integrations" / f"{recipe}.py").is_file()
