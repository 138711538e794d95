"""Logs typed from public threads: their story, and the line that is to blame."""

from __future__ import annotations

import io
import tomllib
from pathlib import Path

import pytest

from coldfork.diagnose.explaining import explain, read_log

PUBLIC = Path(__file__).resolve().parent / "public"
TRUTHS = tomllib.loads((PUBLIC / "truths.toml").read_text(encoding="utf-8"))


@pytest.mark.must_hold
@pytest.mark.parametrize("name", TRUTHS)
def test_a_public_log_has_its_story_and_its_line(name: str) -> None:
    truth = TRUTHS[name]
    log = read_log(io.BytesIO((PUBLIC / f"{name}.log").read_bytes()), None)
    stories = explain([log]).stories
    assert [story.name for story in stories] == ([truth["story"]] if "story" in truth else [])
    if "place" in truth:
        place = stories[0].culprit
        assert place is not None
        assert f"/{place.path}:{place.line}".endswith(f"/{truth['place']}")
