"""The names that docs/reference/api.md lists are the names that the package offers."""

from __future__ import annotations

import ast
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

import coldfork
from coldfork import graphs

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "api.md"


def test_the_page_lists_exactly_the_public_names() -> None:
    listed = re.findall(r"^(?:##|-) `coldfork\.(\w+)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(coldfork.__all__)


def test_every_public_name_can_be_had_and_is_shown_by_dir() -> None:
    for name in coldfork.__all__:
        assert getattr(coldfork, name) is not None
    assert set(coldfork.__all__) <= set(dir(coldfork))


def test_every_public_name_of_graphs_stands_in_the_module_that_is_loaded_for_it() -> None:
    """Read and not imported, because the modules need torch."""
    assert dir(graphs) == sorted(graphs.__all__)
    assert set(graphs._HOME_OF) == set(graphs.__all__)
    for name, home in graphs._HOME_OF.items():
        spec = find_spec(home)
        assert spec is not None, home
        assert spec.origin is not None
        body = ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body
        assert name in {one for statement in body for one in defined_by(statement)}, (home, name)


def defined_by(statement: ast.stmt) -> list[str]:
    """The names that one statement of a module defines."""
    if isinstance(statement, ast.ClassDef | ast.FunctionDef):
        return [statement.name]
    if isinstance(statement, ast.Assign):
        return [target.id for target in statement.targets if isinstance(target, ast.Name)]
    return []


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'colfdork'"):
        coldfork.colfdork  # noqa: B018
    with pytest.raises(AttributeError, match=r"^module 'coldfork\.graphs' has no attribute 'Piece'$"):
        graphs.Piece  # noqa: B018
