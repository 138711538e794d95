"""The words of the C++ runtime when a forked worker cannot give back pinned memory."""

from __future__ import annotations

from coldfork.model.diagnosis import Confidence
from tests.diagnose.running import names, only_story, raised

SAID = """\
saved the last checkpoint
terminate called after throwing an instance of 'c10::AcceleratorError'
  what():  CUDA error: initialization error
CUDA kernel errors might be asynchronously reported at some other API call.
frame #3: at::CachingHostAllocatorImpl<at::cuda::CUDAStream>::free(void*) + 0x54 (0x7f in libtorch_cuda.so)
RuntimeError: DataLoader worker (pid 31415) is killed by signal: Aborted.
"""
OTHERS = (
    "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n",
    "terminate called after throwing an instance of 'c10::Error'\n  what():  CUDA error: out of memory\n",
    raised("ValueError: what(): CUDA error: initialization error is what the docs say"),
)


def test_the_words_are_recognised() -> None:
    story = only_story(SAID)
    assert (story.name, story.confidence) == ("aborted-after-fork", Confidence.CERTAIN)
    assert "spawn" in story.remedies[0]


def test_a_prefix_of_a_trainer_does_not_hide_them() -> None:
    said = "".join(f"[rank1]: {line}\n" for line in SAID.splitlines())
    assert names(said) == ["aborted-after-fork"]


def test_words_that_are_alike_are_no_story() -> None:
    for other in OTHERS:
        assert "aborted-after-fork" not in names(other)
