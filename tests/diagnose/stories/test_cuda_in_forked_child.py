"""A device used in a forked child: the worker, the import that died, and what woke it in the parent."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest

from coldfork.diagnose.case import Waking
from coldfork.diagnose.explaining import explain, read_log
from coldfork.model.diagnosis import Blame, Confidence, Place, Story, Suspect
from tests.diagnose import corpus

ERROR = (
    "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, "
    "you must use the 'spawn' start method"
)


def only_story(text: str) -> Story:
    """The one story of a log."""
    (story,) = corpus.explained(text).stories
    assert story.name == "cuda-in-forked-child"
    return story


@pytest.mark.must_hold
def test_a_truncated_traceback_of_speculative_decoding_leads_to_the_class_body() -> None:
    story = only_story(corpus.captured("truncated_speculative_decoding.log"))
    assert story.culprit is not None
    assert story.culprit.path.endswith("/vllm/v1/attention/backends/flash_attn.py")
    assert (story.culprit.line, story.culprit.call) == (175, "torch.cuda.get_device_capability")
    (child,) = story.processes
    assert (child.name, child.pid, child.role, child.started) == ("EngineCore_DP0", 680, "child", "fork")
    assert child.framework == "vLLM"
    assert [remedy.split(":")[0].split(" when")[0] for remedy in story.remedies] == [
        "Upgrade vllm to 0.17.0 or newer, where this is mended",
        "Compute it lazily",
        "Choose spawn",
        "Refuse to fork even where a device could have been woken",
    ]
    assert "VLLM_WORKER_MULTIPROC_METHOD=spawn" in story.remedies[2]


def test_three_identical_tracebacks_are_one_story_of_as_many_workers() -> None:
    one = corpus.captured("broken_engine-3.11.log")
    story = only_story(one + one.replace("ForkProcess-1", "ForkProcess-3").split("Process ForkProcess-2")[0])
    assert [process.name for process in story.processes] == [
        "ForkProcess-1",
        "ForkProcess-2",
        "ForkProcess-3",
    ]
    assert story.confidence is Confidence.CERTAIN


def test_the_worker_that_only_used_the_device_met_it_and_did_not_cause_it() -> None:
    story = only_story(corpus.captured("broken_engine-3.11.log"))
    assert story.culprit is not None
    assert (story.culprit.path, story.blame) == ("/srv/broken_engine/hardware.py", Blame.MET)
    assert "this log does not show what had woken it in the parent" in story.cause


def test_an_import_in_the_child_is_the_culprit() -> None:
    story = only_story(corpus.captured("import_in_child-3.11.log"))
    assert story.culprit == Place(
        "/srv/broken_engine/attention/flash.py",
        12,
        "torch.cuda.get_device_capability",
        "if flash_version() == 3:",
    )


@pytest.mark.parametrize(
    ("name", "framework"),
    [
        ("broken_engine", "multiprocessing"),
        ("pool", "multiprocessing.Pool"),
        ("executor", "concurrent.futures"),
        ("loader", "DataLoader of PyTorch"),
    ],
)
def test_the_framework_that_forked_is_named_with_its_own_way_to_spawn(name: str, framework: str) -> None:
    story = only_story(corpus.captured(f"{name}-3.11.log"))
    assert {process.framework for process in story.processes} == {framework}
    assert 'spawn")' in story.remedies[0] or '"spawn"' in story.remedies[0]
    assert not corpus.explained(corpus.captured(f"{name}-3.11.log")).unexplained


def told_with(suspects: Sequence[Suspect] = (), wakings: Sequence[Waking] = ()) -> Story:
    """The story where sources or a recording say more."""
    log = read_log(io.BytesIO(corpus.captured("broken_engine-3.11.log").encode()), None)
    (story,) = explain([log], lambda paths: tuple(suspects), wakings).stories
    return story


CERTAIN = Suspect(
    Place("engine/flash.py", 12, "torch.cuda.get_device_name"), "certain: importing it wakes it"
)
POSSIBLE = Suspect(Place("engine/other.py", 3, "torch.cuda.is_available"), "possible: importing it wakes it")


def test_the_one_cause_that_the_sources_are_certain_of_is_the_culprit() -> None:
    assert told_with([CERTAIN, POSSIBLE]).culprit == CERTAIN.place
    assert told_with([CERTAIN, POSSIBLE]).suspects == (CERTAIN, POSSIBLE)


def test_several_certain_causes_and_possible_ones_are_suspects() -> None:
    other = Suspect(Place("engine/last.py", 1), "certain: importing it wakes it")
    assert told_with([CERTAIN, other]).blame is Blame.MET
    assert told_with([POSSIBLE]).blame is Blame.MET
    assert told_with([CERTAIN, other]).suspects == (CERTAIN, other)


def test_what_a_recording_saw_comes_before_everything_else() -> None:
    seen = Waking(Place("engine/seen.py", 7, "torch.cuda.init"), "engine.seen", None)
    story = told_with([CERTAIN], [seen])
    assert story.culprit == seen.place
    assert "A recording names what woke it" in story.cause


def test_a_recording_that_knows_the_file_only_takes_the_line_from_the_sources() -> None:
    seen = Waking(Place("/srv/engine/flash.py", None), "engine.flash", None, ("engine",))
    assert told_with([CERTAIN], [seen]).culprit == Place(
        "/srv/engine/flash.py", 12, "torch.cuda.get_device_name"
    )


@pytest.mark.parametrize("device", ["XPU", "MTIA", "NPU"])
def test_other_devices_have_a_story_of_their_own(device: str) -> None:
    story = only_story(ERROR.replace("CUDA", device) + "\n")
    assert story.title.startswith(device)


def test_a_line_that_only_says_so_is_likely() -> None:
    said = ERROR.removeprefix("RuntimeError: ")
    assert only_story(f"ERROR [core.py:723] the worker failed: {said}\n").confidence is Confidence.LIKELY


def test_an_error_in_one_line_of_a_logger_is_certain() -> None:
    assert only_story(f"ERROR the engine died: {ERROR}\n").confidence is Confidence.CERTAIN


@pytest.mark.parametrize(
    "quoted",
    [
        'with pytest.raises(RuntimeError, match="Cannot re-initialize CUDA in forked subprocess"):\n',
        (
            "AssertionError: Cannot re-initialize CUDA in forked subprocess. "
            "To use CUDA with multiprocessing, you must\n"
        ),
        "see `Cannot re-initialize CUDA in forked subprocess` in the guide\n",
    ],
)
def test_a_quotation_is_no_story(quoted: str) -> None:
    assert corpus.explained(quoted).stories == ()


def test_what_is_left_of_a_broken_off_traceback_is_not_explained() -> None:
    whole = corpus.captured("import_in_child-3.11.log")
    said = corpus.explained(whole[: whole.index("RuntimeError: Cannot")])
    assert said.stories == ()
    assert [error.reason for error in said.unexplained] == ["the traceback breaks off before its error"]
