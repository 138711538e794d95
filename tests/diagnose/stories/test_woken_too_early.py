"""A device that was initialised before the program had said what it may use."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from coldfork.diagnose.case import Waking
from coldfork.diagnose.explaining import explain, read_log
from coldfork.model.diagnosis import Blame, Confidence, Place, Story, Suspect
from tests.diagnose.running import names, only_story, raised, said_by

UNKNOWN = (
    "CUDA unknown error - this may be due to an incorrectly set up environment, e.g. changing env variable "
    "CUDA_VISIBLE_DEVICES after program start. Setting the available devices to be zero."
)
WARNED = (
    f"/x/site-packages/torch/cuda/__init__.py:129: UserWarning: CUDA initialization: {UNKNOWN} "
    "(Triggered internally at /pytorch/c10/cuda/CUDAFunctions.cpp:109.)\n"
    "  return torch._C._cuda_getDeviceCount() > 0\n"
)
TEXTS = (
    "RuntimeError: Visible devices cannot be modified after being initialized",
    "RuntimeError: Physical devices cannot be modified after being initialized",
    "RuntimeError: Lightning can't create new processes if CUDA is already initialized. Did you",
    (
        "RuntimeError: CUDA has been initialized before the `notebook_launcher` could create a forked "
        "subprocess. This likely stems from an outside import"
    ),
    (
        "RuntimeError: Could not start distributed process. Libraries known to initialize CUDA upon import "
        "have been imported already. Please keep these imports inside your training function"
    ),
)
IMPORTED = (
    'File "/srv/serve.py", line 2, in main',
    'File "<frozen importlib._bootstrap>", line 1204, in _gcd_import',
    'File "/srv/engine/caps.py", line 9, in <module>',
    'File "/x/site-packages/torch/cuda/__init__.py", line 412, in _lazy_init',
)


@pytest.mark.once
@pytest.mark.parametrize(
    "late",
    [
        'jax.config.update("jax_num_cpu_devices", 4)',
        'jax.distributed.initialize("localhost:1", 1, 0)',
    ],
)
def test_what_jax_really_says_when_it_is_told_too_late(late: str, tmp_path: Path) -> None:
    pytest.importorskip("jax")
    story = only_story(said_by(f"import jax\n\njax.numpy.ones(3).sum()\n{late}\n", tmp_path))
    assert (story.name, story.confidence) == ("woken-too-early", Confidence.CERTAIN)
    assert story.blame is Blame.MET, "the line on the stack came too late, and did nothing wrong"
    assert any(late in line.text for line in story.evidence)
    assert story.next == "coldfork run --follow PROGRAM"


@pytest.mark.parametrize("message", TEXTS)
def test_a_framework_that_refuses_is_certain(message: str) -> None:
    story = only_story(raised(message, *IMPORTED))
    assert (story.name, story.confidence, story.blame) == (
        "woken-too-early",
        Confidence.CERTAIN,
        Blame.MET,
    )


def test_a_message_that_the_program_only_printed_is_likely() -> None:
    story = only_story("Physical devices cannot be modified after being initialized\n")
    assert (story.name, story.confidence) == ("woken-too-early", Confidence.LIKELY)


@pytest.mark.parametrize("said", [WARNED, raised(f"RuntimeError: {UNKNOWN}")])
def test_an_unknown_error_is_possible_and_may_be_the_drivers(said: str) -> None:
    story = only_story(said)
    assert (story.name, story.confidence) == ("woken-too-early", Confidence.POSSIBLE)
    assert "nvidia_uvm" in story.alternatives[0]
    assert "start a new process" in story.remedies[2]


def test_an_unknown_error_in_an_import_is_likely_and_leads_to_its_line() -> None:
    story = only_story(raised(f"RuntimeError: {UNKNOWN}", *IMPORTED))
    assert story.confidence is Confidence.LIKELY
    assert story.culprit is not None
    assert (story.culprit.path, story.culprit.line) == ("/srv/engine/caps.py", 9)


def told(text: str, *suspects: Suspect, wakings: tuple[Waking, ...] = ()) -> Story:
    """The story where sources or a recording say more."""
    log = read_log(io.BytesIO(text.encode()), None)
    (story,) = explain([log], lambda paths: suspects, wakings).stories
    return story


def test_what_woke_it_is_named_by_a_recording_and_else_by_the_sources() -> None:
    text = raised(TEXTS[2])
    seen = Waking(Place("/srv/engine/caps.py", 9), "engine.caps", None)
    certain = Suspect(Place("engine/other.py", 3), "certain: importing it wakes it")
    assert told(text, certain, wakings=(seen,)).culprit == seen.place
    assert told(text, certain).culprit == certain.place
    assert told(text, certain, certain).blame is Blame.MET
    assert told(text, Suspect(Place("engine/other.py", 3), "possible: it may")).blame is Blame.MET


def test_both_kinds_in_one_log_are_two_stories() -> None:
    assert names(raised(TEXTS[0]) + WARNED) == ["woken-too-early", "woken-too-early"]


def test_words_that_are_alike_are_no_story() -> None:
    assert names(raised("ValueError: Visible devices cannot be modified after being initialized")) == []
    assert names("the manual: 'Physical devices cannot be modified after being initialized'\n") == []
    assert names(raised("RuntimeError: the id cannot be modified after being initialized")) == []
