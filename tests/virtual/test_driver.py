"""The virtual driver in C, asked as programs ask the real one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.virtual.conftest import Run

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(
        not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="there is no C compiler on this machine"
    ),
]

_ASK = """
import ctypes, os
import coldfork.virtual
device = coldfork.virtual.install("h100", 2)
cuda = ctypes.CDLL("libcuda.so.1")
number = ctypes.c_int()
def count():
    return cuda.cuDeviceGetCount(ctypes.byref(number))
def in_child(fork=os.fork):
    read, write = os.pipe()
    child = fork()
    if child == 0:
        os.write(write, bytes([count(), cuda.cuInit(0), count()]))
        os._exit(0)
    os.waitpid(child, 0)
    return list(os.read(read, 3))
"""

_INJECTED = r"""
#include <stdio.h>
#include <stdlib.h>
int InitializeInjection(void) {
    FILE *file = fopen(getenv("MARK"), "a");
    fputs("called once\n", file);
    fclose(file);
    return 1;
}
"""


def test_nothing_answers_before_the_driver_is_initialised(run: Run) -> None:
    program = run(
        _ASK
        + """
tell(before=count(), state=device.state, version=cuda.cuDriverGetVersion(ctypes.byref(number)))
tell(initialised=cuda.cuInit(0), after=count(), number=number.value, now=device.state, level=device.level)
"""
    )
    assert program.told == {
        "before": 3,
        "state": "cold",
        "version": 0,
        "initialised": 0,
        "after": 0,
        "number": 2,
        "now": "awake",
        "level": "driver",
    }


@pytest.mark.must_hold
def test_a_child_of_an_awake_process_can_never_initialise_it(run: Run) -> None:
    program = run(_ASK + "cold = in_child()\ncuda.cuInit(0)\ntell(cold=cold, awake=in_child())")
    assert program.told == {"cold": [3, 0, 0], "awake": [3, 3, 3]}


def test_a_fork_that_python_does_not_see_poisons_too(run: Run) -> None:
    program = run(_ASK + "cuda.cuInit(0)\ntell(child=in_child(ctypes.CDLL(None).fork))")
    assert program.told == {"child": [3, 3, 3]}


def test_devices_tell_who_they_are(run: Run) -> None:
    program = run(
        _ASK
        + """
cuda.cuInit(0)
name, uuid, memory = ctypes.create_string_buffer(64), ctypes.create_string_buffer(16), ctypes.c_size_t()
def attribute(which):
    cuda.cuDeviceGetAttribute(ctypes.byref(number), which, 1)
    return number.value
tell(
    name=[cuda.cuDeviceGetName(name, 64, 1), name.value.decode()],
    uuid=[cuda.cuDeviceGetUuid_v2(uuid, 1), uuid.raw.hex()],
    memory=[cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), 1), memory.value],
    capability=[attribute(75), attribute(76)],
    processors=attribute(16),
    bus=attribute(33),
    unknown=cuda.cuDeviceGetAttribute(ctypes.byref(number), 100000, 1),
    beyond=cuda.cuDeviceGetName(name, 64, 2),
    nowhere=cuda.cuDeviceGetCount(None),
)
"""
    )
    assert program.told == {
        "name": [0, "NVIDIA H100 80GB HBM3"],
        "uuid": [0, "c01df0015eed40008000000000000001"],
        "memory": [0, 85017493504],
        "capability": [9, 0],
        "processors": 132,
        "bus": 17,
        "unknown": 1,
        "beyond": 101,
        "nowhere": 1,
    }


def test_contexts_are_made_and_left(run: Run) -> None:
    program = run(
        _ASK
        + """
cuda.cuInit(0)
context, current = ctypes.c_void_p(), ctypes.c_void_p()
alone = cuda.cuCtxGetDevice(ctypes.byref(number))
retained = cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 1)
pushed = cuda.cuCtxPushCurrent_v2(context)
on = cuda.cuCtxGetDevice(ctypes.byref(number))
tell(alone=alone, retained=retained, pushed=pushed, on=[on, number.value], level=device.level)
cuda.cuCtxPopCurrent_v2(ctypes.byref(current))
tell(same=current.value == context.value, released=cuda.cuDevicePrimaryCtxRelease_v2(1))
tell(again=cuda.cuDevicePrimaryCtxRelease_v2(1), now=device.level)
tell(memory=cuda.cuMemAlloc_v2(ctypes.byref(context), 4096))
tell(stream=cuda.cuStreamCreate(ctypes.byref(context), 0))
"""
    )
    assert program.told == {
        "alone": 201,
        "retained": 0,
        "pushed": 0,
        "on": [0, 1],
        "level": "context",
        "same": True,
        "released": 0,
        "again": 201,
        "now": "driver",
        "memory": 801,
        "stream": 801,
    }


def test_every_entry_point_is_found_by_its_name(run: Run) -> None:
    program = run(
        _ASK
        + """
function, status = ctypes.c_void_p(), ctypes.c_int()
def find(name, version=12080):
    found, flags = ctypes.byref(function), ctypes.c_ulonglong(0)
    code = cuda.cuGetProcAddress_v2(name, found, version, flags, ctypes.byref(status))
    return [code, status.value]
tell(known=find(b"cuInit"), unknown=find(b"malloc"), future=find(b"cuSomethingOfTomorrow"))
tomorrow = ctypes.CFUNCTYPE(ctypes.c_int)(function.value)
cold = tomorrow()
find(b"cuInit")
initialise = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint)(function.value)
tell(cold=cold, initialised=initialise(0), awake=tomorrow(), state=device.state)
"""
    )
    assert program.told == {
        "known": [0, 0],
        "unknown": [500, 1],
        "future": [0, 0],
        "cold": 3,
        "initialised": 0,
        "awake": 801,
        "state": "awake",
    }


def test_a_library_to_inject_is_called_before_the_driver_is_initialised(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "injected.c"
    source.write_text(_INJECTED, encoding="utf-8")
    library, mark = tmp_path / "injected.so", tmp_path / "mark"
    compiler = str(next(filter(None, map(shutil.which, ("cc", "gcc", "clang")))))
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    program = run(
        _ASK + 'tell(first=os.path.exists(os.environ["MARK"]), codes=[cuda.cuInit(0), cuda.cuInit(0)])',
        environment={"CUDA_INJECTION64_PATH": str(library), "MARK": str(mark)},
    )
    assert program.told == {"first": False, "codes": [0, 0]}
    assert mark.read_text(encoding="utf-8") == "called once\n"


def test_nvml_counts_and_names_without_waking_the_driver(run: Run) -> None:
    program = run(
        _ASK
        + """
nvml = ctypes.CDLL("libnvidia-ml.so.1")
handle, text = ctypes.c_void_p(), ctypes.create_string_buffer(96)
tell(before=nvml.nvmlDeviceGetCount_v2(ctypes.byref(number)), initialised=nvml.nvmlInit_v2())
nvml.nvmlDeviceGetCount_v2(ctypes.byref(number))
tell(count=number.value, handle=nvml.nvmlDeviceGetHandleByIndex_v2(1, ctypes.byref(handle)))
nvml.nvmlDeviceGetUUID(handle, text, 96)
tell(uuid=text.value.decode(), short=nvml.nvmlDeviceGetUUID(handle, text, 8))
tell(none=nvml.nvmlDeviceGetUUID(None, text, 96))
tell(beyond=nvml.nvmlDeviceGetHandleByIndex_v2(2, ctypes.byref(handle)), state=device.state)
""",
        environment={"CUDA_VISIBLE_DEVICES": "1"},
    )
    assert program.told == {
        "before": 1,
        "initialised": 0,
        "count": 2,
        "handle": 0,
        "uuid": "GPU-c01df001-5eed-4000-8000-000000000001",
        "short": 7,
        "none": 2,
        "beyond": 2,
        "state": "cold",
    }


def test_a_device_without_nvml_has_no_such_library(run: Run) -> None:
    program = run(
        """
import ctypes, coldfork.virtual
coldfork.virtual.install("h100-without-nvml")
try:
    ctypes.CDLL("libnvidia-ml.so.1")
except OSError:
    tell(found=False)
tell(driver=ctypes.CDLL("libcuda.so.1").cuInit(0))
"""
    )
    assert program.told == {"found": False, "driver": 0}
