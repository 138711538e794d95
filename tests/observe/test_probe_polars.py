"""polars, the real one: before and after it starts its pool, and what a fork does then."""

from __future__ import annotations

import sys

import pytest

from tests.observe.probing import ask

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's /proc")

QUERY = """
def query():
    frame = polars.DataFrame({"a": range(200_000)})
    return frame.lazy().group_by("a").agg(polars.col("a").sum().alias("b")).collect().height
"""


@pytest.mark.must_hold
def test_polars_is_awake_once_it_has_answered_a_query() -> None:
    pytest.importorskip("polars")
    said = ask(
        """
import warnings
warnings.simplefilter("ignore")
poller = states.Poller()
tell(before=state("polars"))
import polars
"""
        + QUERY
        + """
tell(imported=state("polars"), imported_polled=poller.awake())
states.remember_for_children()
tell(of_cold=in_child(lambda: [state("polars"), query(), state("polars")]))
query()
tell(asked=state("polars"), asked_polled=poller.awake())
states.remember_for_children()
tell(of_awake=in_child(lambda: [state("polars"), poller.awake()]))
tell(stuck=in_child(query, seconds=8))
"""
    )
    assert said == {
        "before": ["absent", None],
        "imported": ["cold", None],
        "imported_polled": [],
        "of_cold": [["cold", None], 200_000, ["awake", None]],
        "asked": ["awake", None],
        "asked_polled": [["polars", None]],
        "of_awake": [["poisoned", None], []],
        "stuck": "ended with 14",
    }
