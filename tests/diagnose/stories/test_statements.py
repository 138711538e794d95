"""What states an error where no whole traceback does: a logger, CUDA's own library, a sentence."""

from __future__ import annotations

import pytest

from coldfork.model.diagnosis import Confidence
from tests.diagnose.corpus import explained
from tests.diagnose.running import names, only_story, raised

BROKEN = """\
Traceback (most recent call last):
  File "/v/site-packages/celery/app/trace.py", line 367, in trace_task
    R = retval = fun(*args, **kwargs)
  File "/srv/app/tasks.py", line 39, in shrink
    pool = Pool(4)
"""
DAEMONIC = "daemonic processes are not allowed to have children"
FULL = (
    "RuntimeError: CUDA out of memory. Tried to allocate 60.00 MiB (GPU 0; 11.17 GiB total capacity; "
    "0.40 GiB already allocated; 12.50 MiB free; {reserved} GiB reserved in total by PyTorch)"
)
SEARCH = "Search for `{code}' in https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html\n"


@pytest.mark.parametrize(
    "said",
    [
        f"[2018-10-18 15:40:18,210: ERROR/ForkPoolWorker-2] a raised: AssertionError('{DAEMONIC}',)\n",
        f"It raises AssertionError: {DAEMONIC}\n\n```\n",
    ],
    ids=["celery", "report"],
)
def test_a_traceback_that_breaks_off_is_that_of_the_error_named_above_it(said: str) -> None:
    story = only_story(said + BROKEN)
    assert story.name == "daemonic"
    assert story.culprit is not None
    assert (story.culprit.path, story.culprit.line) == ("/srv/app/tasks.py", 39)


def test_other_words_between_keep_a_broken_traceback_apart() -> None:
    assert only_story(f"AssertionError: {DAEMONIC}\nthe next task starts\n{BROKEN}").culprit is None


def test_a_class_is_named_as_python_prints_it() -> None:
    said = f"13:38:14 ERROR main: a step raised <class 'AssertionError'> exception: {DAEMONIC}\n"
    assert only_story(said).name == "daemonic"
    assert names(f"13:38:14 ERROR main: a step raised <class 'ValueError'> exception: {DAEMONIC}\n") == []


def test_cuda_states_an_error_without_an_exception_around_it() -> None:
    checked = "THCudaCheck FAIL file=/pytorch/torch/csrc/cuda/Module.cpp line=37 error=10 : {words}\n"
    assert names(checked.format(words="invalid device ordinal")) == ["invalid-device"]
    assert names(checked.format(words="invalid argument")) == []
    assert names(SEARCH.format(code="cudaErrorStreamCaptureUnsupported")) == ["capture-invalidated"]
    assert names(f"see {SEARCH.format(code='cudaErrorStreamCaptureUnsupported')}") == []


def test_what_stands_below_an_error_is_not_another_one() -> None:
    said = raised("RuntimeError: CUDA error: device-side assert triggered")
    listed = explained(said + SEARCH.format(code="cudaErrorAssert")).unexplained
    assert len(listed) == 1


def test_memory_that_an_older_pytorch_does_not_account_for_is_held_by_others() -> None:
    story = only_story(raised(FULL.format(reserved="0.52")))
    assert (story.name, story.confidence) == ("out-of-memory", Confidence.POSSIBLE)
    assert names(raised(FULL.format(reserved="10.20"))) == []


def test_a_sentence_in_another_script_and_a_mark_that_was_not_closed_introduce_a_message() -> None:
    forked = "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use"
    assert names(f"\u4f9d\u65e7\u62a5\u9519{forked}\n") == ["cuda-in-forked-child"]
    assert names(f"caf\u00e9 {forked}\n") == []
    thrown = "terminate called after throwing an instance of 'c10::Error'\n"
    assert names(f"`{thrown}  what():  CUDA error: initialization error\n") == ["aborted-after-fork"]


CALLS = (
    '  File "train.py", line 284, in <module>',
    "    main(args)",
    '  File "train.py", line 129, in main',
    "    begin(args)",
    '  File "/srv/app/begin.py", line 453, in begin',
    "    torch.cuda.set_device(args.gpu)",
    '  File "/v/site-packages/torch/cuda/__init__.py", line 311, in set_device',
    "    torch._C._cuda_setDevice(device)",
    "RuntimeError: CUDA error: invalid device ordinal",
)
HEADER = "Traceback (most recent call last):"


def test_processes_that_write_one_traceback_into_each_other_show_its_line() -> None:
    first, second, third = CALLS[:4], CALLS[:1], CALLS[:6]
    rows = (HEADER, *second, HEADER, *first, HEADER, *third, *CALLS[1:4], *CALLS[6:])
    place = only_story("\n".join(rows) + "\n").culprit
    assert place is not None
    assert (place.path, place.line) == ("/srv/app/begin.py", 453)


def test_a_traceback_that_broke_off_earlier_lends_no_line_to_the_next() -> None:
    other = (HEADER, *CALLS[:1], '  File "train.py", line 131, in main', "    torch.cuda.set_device(3)")
    rows = (HEADER, *CALLS[:6], "...", "the next attempt", *other, *CALLS[6:])
    place = only_story("\n".join(rows) + "\n").culprit
    assert place is not None
    assert (place.path, place.line) == ("train.py", 131)


def test_calls_below_their_error_are_a_stack_with_its_innermost_call_first() -> None:
    calls = [f"{CALLS[index]}\n{CALLS[index + 1]}\n" for index in (6, 4, 2, 0)]
    place = only_story(f"{CALLS[-1]}\n{''.join(calls)}").culprit
    assert place is not None
    assert (place.path, place.line, place.text) == (
        "/srv/app/begin.py",
        453,
        "torch.cuda.set_device(args.gpu)",
    )
