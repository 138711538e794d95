"""Logs that had no story, or one that misled."""

from __future__ import annotations

from pathlib import Path

import pytest

from coldfork.model.diagnosis import Confidence
from tests.diagnose.running import names, only_story, raised, said_by

PYTHON = "/usr/lib/python3.14/multiprocessing"
AUTHENTICATION = (
    'File "/srv/train.py", line 9, in main',
    f'File "{PYTHON}/process.py", line 121, in start',
    f'File "{PYTHON}/popen_forkserver.py", line 51, in _launch',
    f'File "{PYTHON}/forkserver.py", line 120, in connect_to_new_process',
    f'File "{PYTHON}/connection.py", line 985, in answer_challenge',
    f'File "{PYTHON}/connection.py", line 216, in recv_bytes',
    f'File "{PYTHON}/connection.py", line 435, in _recv_bytes',
    f'File "{PYTHON}/connection.py", line 400, in _recv',
)
ORT = (
    "onnxruntime.capi.onnxruntime_pybind11_state.RuntimeException: [ONNXRuntimeError] : 6 : "
    "RUNTIME_EXCEPTION : CUDA failure 900: operation not permitted when stream is capturing ; GPU=0"
)


REFUSED = "CUDA error: operation not permitted when stream is capturing"
NOTEBOOK = (
    "ValueError: To launch a multi-GPU training from your notebook, you need to avoid running any "
    "instruction using `torch.cuda` in any cell."
)
WORDINGS = (
    ("AssertionError: The NVIDIA driver on your system is too old (found 10020)", "driver-too-old"),
    ("numba.cuda.cudadrv.error.CudaDriverError: CUDA initialized before forking", "initialization-error"),
    (ORT, "capture-invalidated"),
    ("RuntimeError: captures must not be empty", "capture-invalidated"),
    (f"coldfork.virtual.capturing.recording.refusals.DeviceRefusal: {REFUSED}", "capture-invalidated"),
    (
        "RuntimeError: Offset increment outside graph capture encountered unexpectedly.",
        "lazy-state-in-capture",
    ),
    (NOTEBOOK, "woken-too-early"),
)


@pytest.mark.parametrize(("error", "story"), WORDINGS)
def test_a_wording_that_had_no_story(error: str, story: str) -> None:
    assert names(raised(error)) == [story]


def test_the_authentication_of_a_fork_server_that_died_is_below_its_files() -> None:
    error = "ConnectionResetError: [Errno 104] Connection reset by peer"
    assert names(raised(error, *AUTHENTICATION)) == ["forkserver-eof"]
    assert names(raised(error, *AUTHENTICATION, 'File "/srv/rpc.py", line 3, in call')) == []


def test_a_message_quoted_in_prose_is_likely() -> None:
    story = only_story(
        "Training fails with `RuntimeError: Cannot re-initialize CUDA in forked subprocess`.\n"
    )
    assert (story.name, story.confidence) == ("cuda-in-forked-child", Confidence.LIKELY)


def test_a_start_method_set_in_the_import_of_a_spawned_child_is_a_missing_guard() -> None:
    spawned = (
        'File "<string>", line 1, in <module>',
        f'File "{PYTHON}/spawn.py", line 122, in spawn_main',
        f'File "{PYTHON}/spawn.py", line 246, in prepare',
        'File "<frozen runpy>", line 286, in run_path',
        'File "/srv/train.py", line 5, in <module>',
        f'File "{PYTHON}/context.py", line 247, in set_start_method',
    )
    story = only_story(raised("RuntimeError: context has already been set", *spawned))
    assert (story.name, story.culprit and story.culprit.line) == ("no-main-guard", 5)


def test_a_queue_that_cannot_pickle_has_not_failed_to_start_a_process(tmp_path: Path) -> None:
    program = (
        "import multiprocessing\n"
        "queue = multiprocessing.Queue()\n"
        "queue.put(lambda: 1)\n"
        "queue.close()\n"
        "queue.join_thread()\n"
    )
    story = only_story(said_by(program, tmp_path))
    assert story.name == "unpicklable-target"
    assert "put into a queue" in story.title
    assert "after `put` has returned" in story.cause


OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of "
    "79.15 GiB of which 2.00 GiB is free. Process 4242 has {} memory in use."
)


@pytest.mark.parametrize(("held", "found"), [("662.00 MiB", []), ("20.00 GiB", ["out-of-memory"])])
def test_a_neighbour_with_no_more_than_a_context_is_not_the_reason(held: str, found: list[str]) -> None:
    assert names(raised(OOM.format(held))) == found


@pytest.mark.parametrize(
    ("reason", "found"),
    [
        ("Call to open failed: Permission denied", []),
        ("Call to posix_fallocate failed: No space left on device", ["shared-memory"]),
    ],
)
def test_shared_memory_is_not_full_where_the_line_before_says_otherwise(
    reason: str, found: list[str]
) -> None:
    warned = "Error while creating shared memory segment /dev/shm/nccl-KWf (size 5967872)"
    lines = (
        f"n1:9:9 [3] misc/shmutils.cc:7{n} NCCL WARN {said}\n" for n, said in enumerate((reason, warned))
    )
    text = "".join(lines)
    assert names(text) == found


def test_the_first_help_for_what_a_worker_did_is_another_way_to_start_it() -> None:
    words = "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with"
    collate = (
        'File "/x/site-packages/torch/utils/data/_utils/worker.py", line 3, in _worker_loop',
        'File "/srv/train.py", line 12, in collate',
        'File "/x/site-packages/torch/cuda/__init__.py", line 305, in _lazy_init',
    )
    story = only_story(raised(words, *collate))
    assert story.remedies[0].startswith("Choose spawn")
    assert (story.culprit and story.culprit.line) == 12
