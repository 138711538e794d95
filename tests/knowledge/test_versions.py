"""Version ranges mean what PEP 440 says; `packaging` is the oracle."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from coldfork.knowledge.compiled import EFFECTS, HARMLESS, RAISES, RETURNS, VALUES, WRAPS
from coldfork.knowledge.entries import (
    NEWEST,
    EffectEntry,
    HarmlessEntry,
    RaisesEntry,
    ReturnsEntry,
    ValueEntry,
    WrapsEntry,
    admits,
)

number = st.integers(0, 12)
release = st.lists(number, min_size=1, max_size=4).map(lambda parts: ".".join(map(str, parts)))
prefix = st.sampled_from(["", "", "", "v", "1!"])
suffix = st.sampled_from(["", "", "", "+cu126", "a0", "rc1", ".dev20250101", ".post1", "a0+git1234"])
clause = st.tuples(st.sampled_from([">=", "<=", "<", ">", "==", "!=", "~="]), release).filter(
    lambda pair: pair[0] != "~=" or "." in pair[1]
)
range_ = st.lists(clause, min_size=0, max_size=3).map(lambda pairs: ",".join(map("".join, pairs)))


@given(range_, st.tuples(prefix, release, suffix).map("".join))
def test_a_range_admits_what_packaging_admits(range_: str, version: str) -> None:
    expected = SpecifierSet(range_).contains(Version(version).base_version)
    assert admits(range_, version) is expected


@pytest.mark.parametrize("version", ["2.9.0a0+git1234", "2.9.0.dev20250801+cu128", "2.9.0rc3", "2.9.0.post1"])
def test_a_nightly_is_on_one_side_of_its_own_bound(version: str) -> None:
    assert admits(">=2.9", version)
    assert not admits("<2.9", version)


@given(range_)
def test_a_version_nobody_can_parse_counts_as_the_newest(range_: str) -> None:
    assert admits(range_, "unknown") is admits(range_, NEWEST)


@pytest.mark.parametrize("range_", ["~=2", ">>1", "2.0", ">=x", "=>3"])
def test_a_malformed_range_is_refused(range_: str) -> None:
    with pytest.raises(ValueError, match="Invalid"):
        admits(range_, "2.0")


def test_every_range_in_the_knowledge_base_takes_the_cheap_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Importing `packaging` costs more than the whole catalogue, so plain ranges must not need it."""
    ranges = {entry.versions for entry in _entries()}

    def refuse(range_: str, version: str) -> bool:
        raise AssertionError(f"{range_} asked packaging about {version}")

    monkeypatch.setattr("coldfork.knowledge.entries._admits_by_packaging", refuse)
    assert len(ranges) > 5
    for range_ in ranges:
        admits(range_, "2.8.0+cu128")


def _entries() -> list[EffectEntry | ValueEntry | RaisesEntry | HarmlessEntry | ReturnsEntry | WrapsEntry]:
    return [
        *(EffectEntry(*row) for row in EFFECTS),
        *(ValueEntry(*row) for row in VALUES),
        *(RaisesEntry(*row) for row in RAISES),
        *(HarmlessEntry(*row) for row in HARMLESS),
        *(ReturnsEntry(*row) for row in RETURNS),
        *(WrapsEntry(*row) for row in WRAPS),
    ]
