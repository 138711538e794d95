"""`coldfork rule`: the list, a page, and its JSON."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from click.testing import Result
from inline_snapshot import snapshot

from coldfork.rules import registry

Run = Callable[..., Result]


def test_the_list_names_every_rule_and_the_next_command(run: Run) -> None:
    result = run("rule")
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines[:-2]] == list(registry.NAMES)
    assert lines[-1] == "coldfork rule NAME prints a rule's page."


@pytest.mark.parametrize("name", registry.NAMES)
def test_a_page_is_printed_as_the_site_shows_it(run: Run, name: str) -> None:
    result = run("rule", name)
    assert (result.exit_code, result.stdout) == (0, registry.page(name).markdown)


def test_an_unknown_rule_comes_with_the_near_match(run: Run) -> None:
    result = run("rule", "device-init")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == snapshot(
        "coldfork: there is no rule 'device-init'; did you mean device-init-at-import?\n"
    )


def test_json_for_one_and_for_all(run: Run) -> None:
    one = json.loads(run("rule", "waking-import", "--format", "json").stdout)
    assert set(one) == {"name", "severity", "summary", "markdown"}
    every = json.loads(run("rule", "--format", "json").stdout)
    assert [page["name"] for page in every] == list(registry.NAMES)
    assert one in every
