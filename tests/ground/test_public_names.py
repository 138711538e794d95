"""The names that docs/reference/api.md lists are the names that the package offers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import coldfork

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "api.md"


def test_the_page_lists_exactly_the_public_names() -> None:
    listed = re.findall(r"^## `coldfork\.(\w+)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(coldfork.__all__)


def test_every_public_name_can_be_had_and_is_shown_by_dir() -> None:
    for name in coldfork.__all__:
        assert getattr(coldfork, name) is not None
    assert set(coldfork.__all__) <= set(dir(coldfork))


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'colfdork'"):
        coldfork.colfdork  # noqa: B018
