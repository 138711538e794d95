"""Error 3 of the driver: in a forked child, in a child of unknown origin, and anywhere."""

from __future__ import annotations

import pytest

from coldfork.model.diagnosis import Confidence
from tests.diagnose.running import names, only_story, raised

RUN = 'File "/opt/python/lib/python3.11/multiprocessing/process.py", line 314, in _bootstrap'
STEP = 'File "/srv/work.py", line 9, in step'
MESSAGES = (
    "RuntimeError: CUDA error: initialization error",
    "torch.AcceleratorError: CUDA error: initialization error",
    "RuntimeError: CUDA driver initialization failed, you might not have a CUDA gpu.",
    (
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before "
        "calling NumCudaDevices() that might have already set an error? Error 3: initialization error"
    ),
    "cupy_backends.cuda.api.runtime.CUDARuntimeError: cudaErrorInitializationError: initialization error",
    (
        "numba.cuda.cudadrv.driver.CudaAPIError: [3] Call to cuDevicePrimaryCtxRetain results in "
        "CUDA_ERROR_NOT_INITIALIZED"
    ),
)


@pytest.mark.parametrize("message", MESSAGES)
def test_in_a_forked_child_it_is_certain(message: str) -> None:
    story = only_story(f"Process ForkProcess-1:\n{raised(message, RUN, STEP)}")
    assert (story.name, story.confidence) == ("initialization-error", Confidence.CERTAIN)
    assert story.culprit is not None
    assert (story.culprit.path, story.culprit.line) == ("/srv/work.py", 9)


def test_in_a_child_of_unknown_origin_it_is_likely() -> None:
    assert only_story(raised(MESSAGES[0], RUN, STEP)).confidence is Confidence.LIKELY


def test_in_any_other_process_it_is_possible_and_the_driver_may_be_broken() -> None:
    story = only_story(raised(MESSAGES[0], STEP))
    assert story.confidence is Confidence.POSSIBLE
    assert "does not work on this machine" in story.alternatives[0]


def test_an_initialization_error_of_something_else_is_no_story() -> None:
    assert names(raised("RuntimeError: initialization error: no such model")) == []
    assert names(raised("ValueError: CUDA error: initialization error")) == []
