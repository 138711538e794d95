"""How a range lies to what a project requires; every version up to a bound is the oracle."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet

from coldfork.knowledge.allowance import Share, share
from coldfork.knowledge.catalogue import load
from coldfork.knowledge.known import known
from coldfork.model.effects import PROFILES

RELEASES = [f"{a}.{b}.{c}" for a, b, c in itertools.product(range(4), repeat=3)]
number = st.integers(0, 3)
release = st.lists(number, min_size=1, max_size=3).map(lambda parts: ".".join(map(str, parts)))
plain = st.tuples(st.sampled_from([">=", "<=", "<", ">", "==", "!="]), release).map("".join)
wide = st.one_of(
    plain,
    release.map(lambda one: f"=={one}.*" if one.count(".") < 2 else f"=={one}"),
    release.filter(lambda one: "." in one).map(lambda one: f"~={one}"),
)
range_ = st.lists(plain, min_size=1, max_size=2).map(",".join)
required = st.lists(st.lists(wide, min_size=1, max_size=3).map(",".join), min_size=1, max_size=2)


@given(range_, required)
def test_the_share_is_what_trying_every_release_says(range_: str, required: list[str]) -> None:
    allowed = [one for one in RELEASES if any(SpecifierSet(spec).contains(one) for spec in required)]
    held = [SpecifierSet(range_).contains(one) for one in allowed]
    found = share(range_, tuple(required))
    if any(SpecifierSet(spec).contains("99999") for spec in required):
        assert found is (Share.ALL if SpecifierSet(range_).contains("99999") else Share.NONE)
        return
    # The releases that are tried here are some of all: what they show must hold, the rest may.
    if found is Share.ALL:
        assert all(held)
    elif found is Share.NONE:
        assert not any(held)
    elif all(held) and held:
        beyond = [f"{one}.0.1" for one in RELEASES] + ["9.9", "99999"]
        others = [one for one in beyond if any(SpecifierSet(spec).contains(one) for spec in required)]
        assert not all(SpecifierSet(range_).contains(one) for one in others)


@pytest.mark.parametrize(
    ("required", "expected"),
    [
        ("==4.5.0", Share.ALL),
        ("==4.4.0.dev1", Share.ALL),
        ("==4.5.*", Share.ALL),
        ("~=4.4", Share.SOME),
        ("~=4.4.1", Share.ALL),
        (">=4.4,<4.6", Share.ALL),
        (">=4.3,<4.6", Share.NEWEST),
        ("<4.5.2", Share.NEWEST),
        ("<=4.6", Share.SOME),
        (">=4", Share.NONE),
        ("!=4.5", Share.NONE),
        (">=4,<5", Share.SOME),
        ("!=4.5,<5", Share.SOME),
        ("==4.6", Share.NONE),
        (">=4.6", Share.NONE),
        ("<4.4", Share.NONE),
        ("some words", Share.NONE),
    ],
)
def test_a_pin_and_a_range(required: str, expected: Share) -> None:
    assert share(">=4.4,<4.6", (required,)) is expected


WAKE: dict[str, Any] = {
    "imports": ["acme"],
    "does": "initialises-driver",
    "accelerator": "cuda",
    "distribution": "acme",
    "versions": ">=4.4,<4.6",
    "source": "acme.py",
}
ALIAS = {"name": "acme-tools", "of": "acme", "source": "acme.py"}


@pytest.mark.parametrize(
    ("installed", "required", "told"),
    [
        ({}, {}, []),
        ({}, {"acme": ("==4.5",)}, [(None, "")]),
        ({}, {"acme-tools": ("==4.5",)}, [(None, "")]),
        ({}, {"acme": ("<4.6",)}, [(None, "acme >=4.4,<4.6 is installed")]),
        ({}, {"acme": (">=4.4",)}, []),
        ({}, {"acme": (">=4.4,<5",)}, [("acme >=4.4,<4.6 is installed", "")]),
        ({}, {"acme": (">=4.6",)}, []),
        ({}, {"acme": ("==4.7", "==4.5")}, [("acme >=4.4,<4.6 is installed", "")]),
        ({"acme": "4.7"}, {"acme": ("==4.5",)}, []),
        ({"acme": "4.5"}, {"acme": (">=4.7",)}, [(None, "")]),
        ({"acme-tools": "4.5"}, {}, [(None, "")]),
    ],
)
def test_what_is_required_counts_where_nothing_is_installed(
    installed: dict[str, str], required: dict[str, tuple[str, ...]], told: list[tuple[str | None, str]]
) -> None:
    extra = {"effect": [WAKE], "alias": [ALIAS]}
    facts = load(PROFILES["cuda"], installed, extra, required).imports.get("acme", ())
    assert [(fact.condition, fact.presumes) for fact in facts] == told


def test_older_versions_are_silent_where_the_newest_tells() -> None:
    newer = {**WAKE, "versions": ">=4.6", "does": "creates-context"}
    extra = {"effect": [WAKE, newer]}
    facts = load(PROFILES["cuda"], {}, extra, {"acme": (">=4.4,<5",)}).imports["acme"]
    assert [(fact.does.value, fact.condition) for fact in facts] == [("creates-context", None)]


def test_requirements_change_the_digest() -> None:
    extra = {"effect": [WAKE]}
    digests = {
        known(PROFILES["cuda"], {}, extra, one).digest
        for one in ({}, {"acme": ("==4.5",)}, {"acme": ("==4.7",)})
    }
    assert len(digests) == 3
