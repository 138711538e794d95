"""Memory runs out on a device that several processes use, and on one that is just too small."""

from __future__ import annotations

from coldfork.model.diagnosis import Confidence
from tests.diagnose.running import names, only_story, raised

ALONE = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of "
    "79.11 GiB of which 1.00 GiB is free. Including non-PyTorch memory, this process has 20.00 GiB memory in "
    "use."
)
SHARED = ALONE.replace("Including", "Process 4242 has 58.11 GiB memory in use. Including")


def test_an_error_that_names_another_process_is_likely() -> None:
    story = only_story(raised(SHARED))
    assert (story.name, story.confidence) == ("out-of-memory", Confidence.LIKELY)


def test_two_workers_that_run_out_of_memory_are_possible() -> None:
    story = only_story(f"Process SpawnProcess-1:\n{raised(ALONE)}Process SpawnProcess-2:\n{raised(ALONE)}")
    assert story.confidence is Confidence.POSSIBLE
    assert [process.name for process in story.processes] == ["SpawnProcess-1", "SpawnProcess-2"]


def test_a_model_that_is_too_large_is_no_story() -> None:
    assert names(raised(ALONE)) == []
