"""State that a warm-up made and a graph lacks, and what is first used in a capture."""

from __future__ import annotations

from pathlib import Path

import pytest

from coldfork.model.diagnosis import Confidence
from tests.diagnose.running import names, only_story, raised, said_by

REMEMBERED = """
import torch
from coldfork.graphs import BatchDescriptor, GraphManager, Mode

tokens = torch.zeros(16)
plans = {}


def attend(hidden):
    if hidden.shape not in plans:
        plans[hidden.shape] = hidden.cumsum(0)
    return hidden + plans[hidden.shape]


def create_forward(descriptor, phase):
    hidden = tokens[: descriptor.tokens]
    return (lambda mode: attend(hidden)), None


manager = GraphManager("cpu", check="CHECK")
sizes = [BatchDescriptor(Mode.FULL, 4)]
manager.capture(create_forward, sizes, inputs=lambda one: {"hidden": tokens[: one.tokens]}, progress=False)
"""
POISONED = """
import torch
import coldfork.virtual

x = torch.ones(4)
with coldfork.virtual.capture() as graph:
    plan = torch.empty(4)
    y = x * plan

graph.replay()
print(graph.explain_poison(y))
"""
IN_CAPTURE = 'File "/srv/vllm/v1/worker/gpu_model_runner.py", line 4180, in _capture_cudagraphs'
IN_GRAPH = 'File "/x/site-packages/torch/cuda/graphs.py", line 139, in replay'
CUBLAS = "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`"
BROKE_OFF = "RuntimeError: CUDA error: operation failed due to a previous error during capture"
ILLEGAL = "RuntimeError: CUDA error: an illegal memory access was encountered"
LINKED = "\nDuring handling of the above exception, another exception occurred:\n\n"


@pytest.mark.once
@pytest.mark.must_hold
@pytest.mark.parametrize(("check", "printed"), [("error", "LeakError"), ("warn", "LeakWarning")])
def test_a_graph_that_lacks_what_the_warm_up_planned_is_led_to_the_line_that_planned_it(
    tmp_path: Path, check: str, printed: str
) -> None:
    pytest.importorskip("torch")
    said = said_by(REMEMBERED.replace("CHECK", check), tmp_path)
    assert printed in said
    story = only_story(said)
    assert (story.name, story.confidence) == ("lazy-state-in-capture", Confidence.CERTAIN)
    assert story.culprit is not None
    assert (Path(story.culprit.path).name, story.culprit.line) == ("program.py", 11)
    assert story.remedies[0].startswith("Make the state anew for the capture")


@pytest.mark.once
def test_poison_is_led_to_the_operator_that_read_it(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    story = only_story(said_by(POISONED, tmp_path))
    assert (story.name, story.confidence) == ("lazy-state-in-capture", Confidence.CERTAIN)
    assert story.culprit is not None
    assert (Path(story.culprit.path).name, story.culprit.line) == ("program.py", 8)
    assert story.culprit.call == "aten::mul.Tensor"


def test_cublas_that_is_first_used_in_a_capture_is_one_story_with_the_capture_that_broke_off() -> None:
    first = raised(CUBLAS, 'File "/srv/decode.py", line 4, in <module>')
    then = raised(BROKE_OFF, 'File "/x/site-packages/torch/cuda/graphs.py", line 82, in capture_end')
    story = only_story(f"{first}{LINKED}{then}")
    assert (story.name, story.confidence) == ("lazy-state-in-capture", Confidence.CERTAIN)
    assert story.culprit is not None
    assert (story.culprit.path, story.culprit.line) == ("/srv/decode.py", 4)
    assert "memory is full" in story.alternatives[0]


def test_cublas_below_a_function_that_captures_is_likely() -> None:
    assert only_story(raised(CUBLAS, IN_CAPTURE)).confidence is Confidence.LIKELY


def test_cublas_anywhere_else_is_another_failure() -> None:
    assert names(raised(CUBLAS)) == []


def test_a_capture_that_broke_off_for_another_reason_is_the_other_story() -> None:
    assert names(raised(BROKE_OFF, IN_CAPTURE)) == ["capture-invalidated"]


@pytest.mark.parametrize(
    "message",
    [
        "RuntimeError: Offset increment outside graph capture encountered unexpectedly.",
        "RuntimeError: Attempt to increase offset for a CUDA generator not in capture mode.",
        "RuntimeError: Cannot construct a new CUDAGeneratorImpl during CUDA graph capture. If you need this",
    ],
)
def test_a_generator_in_the_wrong_state_is_likely(message: str) -> None:
    story = only_story(raised(message))
    assert (story.name, story.confidence) == ("lazy-state-in-capture", Confidence.LIKELY)
    assert bool(story.alternatives) is message.startswith("RuntimeError: Offset")


def test_an_illegal_access_in_a_replay_is_possible_and_elsewhere_none() -> None:
    story = only_story(raised(ILLEGAL, 'File "/srv/decode.py", line 4, in step', IN_GRAPH))
    assert (story.name, story.confidence) == ("lazy-state-in-capture", Confidence.POSSIBLE)
    assert names(raised(ILLEGAL)) == []


def test_words_that_are_alike_are_no_story() -> None:
    assert names(raised("ValueError: CUBLAS_STATUS_NOT_INITIALIZED", IN_CAPTURE)) == []
    assert names("see 'aten::mul.Tensor at x.py:3 reads memory that nothing wrote' in the manual\n") == []
    assert names(raised("RuntimeError: this offset increments outside of the graph's capture")) == []
