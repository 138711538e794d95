"""Two ranks on one device, in NCCL's words."""

from __future__ import annotations

import pytest

from coldfork.model.diagnosis import Confidence
from tests.diagnose.running import names, only_story, raised

SAID = "Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 1000"


def test_the_words_are_recognised() -> None:
    story = only_story(
        raised(
            "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1691, invalid usage\n"
            f"Last error:\n{SAID}"
        )
    )
    assert (story.name, story.confidence) == ("duplicate-device", Confidence.CERTAIN)
    assert "LOCAL_RANK" in story.remedies[0]
    assert only_story(f"host:1583:1585 [0] init.cc:738 NCCL WARN {SAID}\n").confidence is Confidence.LIKELY


@pytest.mark.parametrize("other", [f"see 'NCCL' and {SAID}\n", "Duplicate GPU detected, go on\n"])
def test_words_that_are_alike_are_no_story(other: str) -> None:
    assert names(other) == []
