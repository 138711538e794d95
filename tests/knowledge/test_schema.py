"""A malformed entry is refused by file, number and name, and an unknown key by its near match."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldfork.knowledge.catalogue import load
from coldfork.knowledge.entries import ARGUMENT, KEYS
from coldfork.knowledge.schema import read
from coldfork.model.effects import PROFILES
from coldfork.model.errors import KnowledgeError

pytestmark = pytest.mark.once

GOOD: dict[str, Any] = {"calls": ["acme.wake"], "does": "creates-context", "accelerator": "cuda"}


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        (GOOD | {"acelerator": "cuda"}, "unknown key 'acelerator'; did you mean 'accelerator'?"),
        (
            GOOD | {"does": "create-context"},
            "does cannot be 'create-context'; did you mean 'creates-context'?",
        ),
        (
            GOOD | {"accelerator": "gpu"},
            "accelerator cannot be 'gpu'; it is one of cuda, rocm, xpu, opencl, jax",
        ),
        (GOOD | {"under": ["cudda"]}, "under cannot be 'cudda'; did you mean 'cuda'?"),
        (GOOD | {"only_if": "nvml-fail"}, "only_if cannot be 'nvml-fail'; did you mean 'nvml-fails'?"),
        (GOOD | {"imports": ["acme"]}, "needs exactly one of calls, helpers, imports, attributes, methods"),
        (GOOD | {"receivers": ["acme.Box"]}, "methods and receivers go together"),
        (GOOD | {"calls": []}, "calls must not be empty"),
        (GOOD | {"calls": 3}, "calls must be a list of names, not 3"),
        (
            GOOD | {"calls": ["acme.*.wake"]},
            "'acme.*.wake' is not a dotted name; a `*` may only be the last part",
        ),
        (
            GOOD | {"calls": ["acme.wake().now"]},
            "'acme.wake().now' is not a dotted name; a `*` may only be the last part",
        ),
        (GOOD | {"versions": "2.0"}, "versions is not a version range: '2.0'"),
        (GOOD | {"versions": 2}, "versions must be a string, not 2"),
        (GOOD | {"unless_env": {"A": "1", "B": "2"}}, "unless_env must be a table of one variable"),
        (GOOD | {"unless_env": {"A": 1}}, "unless_env holds strings, not 1"),
        (GOOD | {"argument": {"position": 0}}, "argument must be a table with a name"),
        (GOOD | {"argument": {"name": "device", "startwith": ["cuda"]}}, "did you mean 'startswith'?"),
        (GOOD | {"argument": {"name": "device", "position": -1}}, "position must be a number from 0, not -1"),
        (GOOD | {"argument": {"name": "device", "startswith": {"gpu": "x"}}}, "startswith cannot be 'gpu'"),
        (GOOD | {"argument": {"name": "device", "equals": [None]}}, "equals must list strings"),
        ({"calls": ["acme.wake"], "accelerator": "cuda"}, "does is missing"),
        ({"calls": ["acme.wake"], "does": "creates-context"}, "accelerator is missing"),
    ],
)
def test_a_malformed_effect_names_itself(entry: dict[str, Any], complaint: str) -> None:
    with pytest.raises(KnowledgeError) as caught:
        read({"effect": [GOOD, entry]}, "acme.toml")
    message = str(caught.value)
    assert message.startswith("acme.toml, effect 2")
    assert complaint in message


@pytest.mark.parametrize(
    ("kind", "entry", "complaint"),
    [
        ("value", {"names": ["acme.flag"]}, "acme.toml, value 1 (acme.flag): needs one of is, equals"),
        ("value", {"names": ["acme.flag"], "is": "True"}, "is cannot be 'True'; did you mean 'true'?"),
        ("value", {"names": ["acme.flag"], "is": {"gpu": "true"}}, "is cannot be 'gpu'"),
        (
            "value",
            {"names": ["acme.flag"], "equals": 1.5},
            "equals must be a string, a number or a truth value",
        ),
        ("raises", {"calls": ["acme.init"], "presumes": "it works"}, "needs is missing"),
        ("raises", {"calls": ["acme.init"], "needs": "nvlm", "presumes": "x"}, "did you mean 'nvml'?"),
        ("harmless", {"prefix": ["acme"]}, "unknown key 'prefix'; did you mean 'prefixes'?"),
        ("returns", {"calls": ["acme.box"]}, "type is missing"),
        ("wraps", {"calls": ["acme.box"]}, "function is missing"),
        (
            "wraps",
            {"calls": ["acme.box"], "function": "f", "keeps_value": "yes"},
            "keeps_value must be true or false, not 'yes'",
        ),
        ("remedy", {"id": "wait"}, "acme.toml, remedy 1 (wait): text is missing"),
    ],
)
def test_other_malformed_entries_name_themselves(kind: str, entry: dict[str, Any], complaint: str) -> None:
    with pytest.raises(KnowledgeError) as caught:
        read({kind: [entry]}, "acme.toml")
    assert complaint in str(caught.value)


def test_an_unknown_kind_of_entry_is_refused() -> None:
    with pytest.raises(KnowledgeError, match=r"acme\.toml: unknown key 'effects'; did you mean 'effect'\?"):
        read({"effects": [GOOD]}, "acme.toml")


@pytest.mark.parametrize("wrong", [GOOD, "acme", 3])
def test_a_kind_must_be_a_list_of_tables(wrong: object) -> None:
    with pytest.raises(KnowledgeError, match=r"written \[\[effect\]\]"):
        read({"effect": wrong}, "acme.toml")


def test_an_entry_must_be_a_table() -> None:
    with pytest.raises(KnowledgeError, match="effect 1: must be a table, not 'acme'"):
        read({"effect": ["acme"]}, "acme.toml")


def test_the_users_table_is_named_in_the_complaint() -> None:
    with pytest.raises(KnowledgeError) as caught:
        load(PROFILES["cuda"], {}, {"effect": [GOOD | {"dose": "x"}]})
    assert str(caught.value) == (
        "[tool.coldfork.knowledge], effect 1 (acme.wake): unknown key 'dose'; did you mean 'does'?"
    )


words = st.sampled_from(["", "cuda", "creates-context", "acme.wake", "acme.*", "a b", ">=2", "name", "true"])
json = st.recursive(
    st.none() | st.booleans() | st.integers() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)
keys = st.sampled_from(
    ["calls", "does", "accelerator", "versions", "argument", "unless_env", "names", "is", "id"]
)


kinds = st.sampled_from(["effect", "value", "raises", "harmless", "returns", "wraps", "remedy"])


@given(st.dictionaries(kinds, st.lists(st.dictionaries(keys, json, max_size=5), max_size=2)))
def test_whatever_is_written_it_is_read_or_refused_in_words(document: dict[str, Any]) -> None:
    """Anything but a KnowledgeError fails the test."""
    complaint = "acme.toml"
    with contextlib.suppress(KnowledgeError):
        try:
            read(document, "acme.toml")
        except KnowledgeError as error:
            complaint = str(error)
            raise
    assert "acme.toml" in complaint


def test_the_reference_lists_every_key() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "knowledge.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    tables = set(re.findall(r"^## `(\w+)`", page, re.MULTILINE))
    assert tables == set(KEYS)
    assert listed == {key for keys in KEYS.values() for key in keys} | set(ARGUMENT)
