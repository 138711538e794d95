"""The words of other devices, frameworks and versions for the same failures."""

from __future__ import annotations

import pytest

from coldfork.model.diagnosis import Confidence
from tests.diagnose.running import names, only_story, raised

SHM = "/dev/shm/nccl-PPw5vA"
ERRORS = (
    ("RuntimeError: No HIP GPUs are available", "invalid-device", "certain"),
    ("RuntimeError: HIP error: invalid device ordinal", "invalid-device", "certain"),
    ("RuntimeError: No XPU devices are available.", "invalid-device", "certain"),
    (
        "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU",
        "invalid-device",
        "certain",
    ),
    (
        "jaxlib.xla_extension.XlaRuntimeError: FAILED_PRECONDITION: No visible GPU devices.",
        "invalid-device",
        "certain",
    ),
    (
        "numba.cuda.cudadrv.error.CudaSupportError: Call to cuInit results in CUDA_ERROR_NO_DEVICE (100)",
        "invalid-device",
        "certain",
    ),
    (
        "torch.OutOfMemoryError: HIP out of memory. Process 4242 has 20.00 GiB memory in use.",
        "out-of-memory",
        "likely",
    ),
    (
        (
            "ValueError: Free memory on device cuda:0 (10.1/79.1 GiB) on startup is less than desired GPU "
            "memory utilization (0.9, 71.2 GiB). Decrease GPU memory utilization or reduce GPU memory used "
            "by other processes."
        ),
        "out-of-memory",
        "likely",
    ),
    (
        "RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain.",
        "driver-too-old",
        "certain",
    ),
    ("RuntimeError: CUDA error: capturing stream has unjoined work", "capture-invalidated", "certain"),
    (
        "RuntimeError: unable to write to file </torch_31911_952036340_6686>: No space left on device (28)",
        "shared-memory",
        "certain",
    ),
    ("RuntimeError: HIP error: initialization error", "initialization-error", "possible"),
    (
        "RuntimeError: cuda runtime error (3) : initialization error at /pytorch/THCGeneral.cpp:50",
        "initialization-error",
        "possible",
    ),
    ("RuntimeError: CUDA failed with error initialization error", "initialization-error", "possible"),
    ("OSError: (External) CUDA error(3), initialization error.", "initialization-error", "possible"),
    (
        "jax.errors.JaxRuntimeError: INTERNAL: CUDA error: CUDA_ERROR_STREAM_CAPTURE_INVALIDATED: failed",
        "capture-invalidated",
        "certain",
    ),
)
LINES = (
    (
        f"node1:12:34 [0] misc/shmutils.cc:72 NCCL WARN Error: failed to extend {SHM} to 9637892 bytes",
        "shared-memory",
    ),
    (
        f"node1:12:34 [0] NCCL WARN Error while creating shared memory segment {SHM} (size 9637888)",
        "shared-memory",
    ),
    (
        (
            "2024-01-01 10:00:00.123456: E external/xla/xla/stream_executor/cuda/cuda_driver.cc:152] failed "
            "call to cuInit: INTERNAL: CUDA error: Failed call to cuInit: CUDA_ERROR_NOT_INITIALIZED: error"
        ),
        "initialization-error",
    ),
    (
        (
            "2024-01-01 10:00:00.123456: F external/xla/xla/stream_executor/cuda/cuda_driver.cc:153] Failed "
            "setting context: CUDA_ERROR_NOT_INITIALIZED: initialization error"
        ),
        "initialization-error",
    ),
    ("The NVIDIA driver on your system is too old (found version 6050).", "driver-too-old"),
    (
        "objc[9]: +[NSFont initialize] may have been in progress in another thread when fork() was called.",
        "threads-at-fork",
    ),
    ("Duplicate GPU detected : rank 9 and rank 1 both on CUDA device 34000", "duplicate-device"),
    (
        (
            "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared "
            "memory (shm)."
        ),
        "shared-memory",
    ),
)


@pytest.mark.parametrize(("error", "story", "confidence"), ERRORS)
def test_an_error_in_other_words_is_the_same_story(error: str, story: str, confidence: str) -> None:
    told = only_story(raised(error))
    assert (told.name, told.confidence) == (story, confidence)


@pytest.mark.parametrize(("line", "story"), LINES)
def test_a_line_that_a_library_writes_by_itself_is_at_most_likely(line: str, story: str) -> None:
    told = only_story(f"{line}\n")
    assert told.name == story
    assert told.confidence is not Confidence.CERTAIN


def test_memory_of_another_device_is_named() -> None:
    assert only_story(raised(ERRORS[6][0])).accelerator == "rocm"
    assert only_story(raised(ERRORS[7][0])).accelerator == "cuda"


@pytest.mark.parametrize(
    "said",
    [
        "see 'failed call to cuInit: CUDA_ERROR_NOT_INITIALIZED' in the manual\n",
        "NCCL INFO created shared memory segment /dev/shm/nccl-1\n",
        raised("RuntimeError: unable to write to file </srv/model.bin>: No space left on device (28)"),
        raised("ValueError: No visible GPU devices."),
        raised("torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB."),
        "/x/torch/cuda.py:129: UserWarning: CUDA initialization: Found no NVIDIA driver on your system.\n",
    ],
)
def test_words_that_are_alike_are_no_story(said: str) -> None:
    assert names(said) == []
