"""The virtual device under a CPU build of torch: torch's own Python code decides and speaks."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from integrations.copied_torch import altered
from tests.virtual.conftest import SOURCE, Run

torch = pytest.importorskip("torch")
BEFORE = pytest.mark.skipif(
    torch.version.cuda is not None or torch.version.hip is not None,
    reason="a build for real devices, which must be imported after the virtual one is there",
)

#: How nearly all of these programs begin.
_ONE = """
import coldfork.virtual
device = coldfork.virtual.install("h100")
import torch
"""
_TORCH = """
import warnings
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch, torch._subclasses, torch._dynamo
"""
_TWO = """
import coldfork.virtual
device = coldfork.virtual.install("h100", 2)
import torch
"""

_FORK = """
import os
def in_child(act):
    child = os.fork()
    if child == 0:
        try:
            act()
        except BaseException as error:
            tell(child=type(error).__name__, said=str(error))
        else:
            tell(child="fine")
        os._exit(0)
    os.waitpid(child, 0)
"""

_SPAWN_SAYS = (
    "Cannot re-initialize CUDA in forked subprocess. "
    "To use CUDA with multiprocessing, you must use the 'spawn' start method"
)


@pytest.mark.parametrize(
    ("after", "order"),
    [(_ONE, ""), pytest.param(_TORCH, "install()", marks=BEFORE)],
    ids=["install(); import torch", "import torch; install()"],
)
@pytest.mark.must_hold
def test_a_child_of_an_awake_process_gets_torchs_own_message(run: Run, after: str, order: str) -> None:
    program = run(
        f"""
from coldfork.virtual import install
{order}
before = torch.cuda.is_initialized()
tell(before=before, capability=torch.cuda.get_device_capability(), after=torch.cuda.is_initialized())
{_FORK}
in_child(lambda: torch.cuda.set_device(0))
""",
        after=after,
    )
    assert program.told == {
        "before": False,
        "capability": [9, 0],
        "after": True,
        "child": "RuntimeError",
        "said": _SPAWN_SAYS,
    }


def test_asking_whether_there_is_a_device_poisons_forks_while_torch_says_it_is_not_initialised(
    run: Run,
) -> None:
    program = run(
        f"""
tell(available=torch.cuda.is_available(), initialised=torch.cuda.is_initialized(), state=device.state)
{_FORK}
in_child(torch.cuda.init)
""",
        after=_ONE,
    )
    assert program.told == {
        "available": True,
        "initialised": False,
        "state": "awake",
        "child": "RuntimeError",
        "said": _SPAWN_SAYS,
    }


@pytest.mark.must_hold
def test_the_words_of_the_crash_are_those_of_torchs_own_file(run: Run, tmp_path: Path) -> None:
    """As in the bug report on vLLM: a class body asks for the capability, in a child of an awake process."""
    installed = Path(importlib.util.find_spec("torch").origin).parent  # type: ignore[union-attr, arg-type]
    copy = altered(installed, tmp_path / "copy", "This sentence stands in a copy of torch")
    backend = tmp_path / "backend.py"
    backend.write_text(
        "import torch\n\n\nclass Builder:\n    support = torch.cuda.get_device_capability()[0] == 9\n",
        encoding="utf-8",
    )
    program = run(
        """
import coldfork.virtual, multiprocessing, os, sys, traceback
device = coldfork.virtual.install("h100")
import torch

def work():
    try:
        import backend
    except RuntimeError as error:
        frames = traceback.extract_tb(error.__traceback__)
        tell(said=str(error), at=[os.path.basename(frames[-1].filename), frames[-1].name],
             body=[(frame.lineno, frame.name) for frame in frames if frame.filename.endswith("backend.py")])

tell(torch=torch.cuda.__file__, available=torch.cuda.is_available(), initialised=torch.cuda.is_initialized())
worker = multiprocessing.get_context("fork").Process(target=work)
worker.start()
worker.join()
""",
        environment={"PYTHONPATH": os.pathsep.join(map(str, (copy, SOURCE, tmp_path)))},
    )
    assert program.told == {
        "torch": str(copy / "torch" / "cuda" / "__init__.py"),
        "available": True,
        "initialised": False,
        "said": "This sentence stands in a copy of torch. "
        "To use CUDA with multiprocessing, you must use the 'spawn' start method",
        "at": ["__init__.py", "_lazy_init"],
        "body": [[4, "<module>"], [5, "Builder"]],
    }


def test_counting_goes_through_nvml_and_leaves_the_driver_cold(run: Run) -> None:
    count = "tell(count=torch.cuda.device_count(), state=device.state)"
    assert run(count, after=_TWO).told == {"count": 2, "state": "cold"}
    without = _TWO.replace("h100", "h100-without-nvml")
    assert run(without + count).told == {"count": 2, "state": "awake"}


def test_without_a_compiler_counting_leaves_the_driver_cold_too(run: Run, tmp_path: Path) -> None:
    program = run(
        f"""
import coldfork.virtual
device = coldfork.virtual.install("h100", 2)
import os, torch
os.environ["CUDA_VISIBLE_DEVICES"] = "GPU-c01df001"
tell(count=torch.cuda.device_count(), state=device.state)
tell(uuid=str(torch.cuda.get_device_properties(0).uuid)[:8])
{_FORK}
in_child(torch.cuda.init)
""",
        environment={"PATH": str(tmp_path), "CC": None, "COLDFORK_CACHE_DIR": str(tmp_path / "cache")},
    )
    assert program.told == {
        "count": 1,
        "state": "cold",
        "uuid": "c01df001",
        "child": "RuntimeError",
        "said": _SPAWN_SAYS,
    }


@pytest.mark.parametrize(("setting", "count"), [("", 0), ("-1", 0), ("1", 1), ("1,0", 2), ("7", 0)])
def test_the_environment_decides_which_devices_there_are(run: Run, setting: str, count: int) -> None:
    program = run(
        """
tell(available=torch.cuda.is_available(), count=torch.cuda.device_count(), state=device.state)
try:
    torch.cuda.init()
    seen = map(torch.cuda.get_device_properties, range(torch.cuda.device_count()))
    tell(uuids=[str(properties.uuid)[:8] for properties in seen])
except RuntimeError as error:
    tell(said=str(error))
""",
        after=_TWO,
        environment={"CUDA_VISIBLE_DEVICES": setting},
    )
    seen = [f"c01df00{number}" for number in setting.split(",")] if count else []
    end = {"uuids": seen} if count else {"said": "No CUDA GPUs are available"}
    state = "awake" if count else "cold"
    assert program.told == {"available": count > 0, "count": count, "state": state, **end}


def test_nvml_based_availability_leaves_the_driver_cold(run: Run) -> None:
    program = run(
        """
tell(available=torch.cuda.is_available(), state=device.state)
""",
        after=_ONE,
        environment={"PYTORCH_NVML_BASED_CUDA_CHECK": "1"},
    )
    assert program.told == {"available": True, "state": "cold"}


def test_a_parent_that_somebody_else_woke_makes_torch_fail_with_other_words(run: Run) -> None:
    program = run(
        f"""
from coldfork.virtual.installation import _PROCESS
_PROCESS.machine.driver.initialise()
{_FORK}
import warnings
def ask():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tell(available=torch.cuda.is_available(), warned=[str(warning.message) for warning in caught])
    torch.cuda.init()
in_child(ask)
""",
        after=_ONE,
    )
    start = "CUDA driver initialization failed, you might not have a CUDA gpu."
    assert program.told == {
        "available": False,
        "warned": [f"CUDA initialization: {start}"],
        "child": "RuntimeError",
        "said": start,
    }


def test_a_wake_that_torch_does_not_mark_is_not_marked_here_either(run: Run) -> None:
    """`torch.get_device_module()` asks from C++; see pytorch issue 190708."""
    program = run(
        f"""
tell(module=torch.get_device_module().__name__, state=device.state)
{_FORK}
in_child(torch.cuda.init)
""",
        after=_ONE,
    )
    assert program.told == {
        "module": "torch.cuda",
        "state": "awake",
        "child": "AcceleratorError",
        "said": "CUDA error: initialization error",
    }


def test_contexts_are_made_by_what_makes_them(run: Run) -> None:
    program = run(
        """
torch.cuda.init()
tell(initialised=device.level, first=torch.cuda.current_device())
tell(properties=torch.cuda.get_device_properties(1).name, still=device.level)
torch.cuda.set_device(1)
tell(chosen=device.level, which=[torch._C._cuda_hasPrimaryContext(index) for index in (0, 1)])
with torch.cuda.device(0):
    tell(inside=torch.cuda.current_device())
tell(after=torch.cuda.current_device(), free=torch.cuda.mem_get_info()[0])
tell(allocated=torch.cuda.memory_allocated())
torch.cuda.reset_peak_memory_stats()
tell(peak=torch.cuda.max_memory_allocated(), summary=len(torch.cuda.memory_summary()) > 100)
try:
    torch.cuda.set_device(2)
except torch.AcceleratorError as error:
    tell(beyond=str(error))
""",
        after=_TWO,
    )
    assert program.told == {
        "initialised": "driver",
        "first": 0,
        "properties": "NVIDIA H100 80GB HBM3",
        "still": "driver",
        "chosen": "context",
        "which": [False, True],
        "inside": 0,
        "after": 1,
        "free": 85017493504,
        "allocated": 0,
        "peak": 0,
        "summary": True,
        "beyond": "CUDA error: invalid device ordinal",
    }


def test_the_accelerator_api_gives_the_answers_of_cuda(run: Run) -> None:
    program = run(
        """
accelerator = torch.accelerator
tell(which=str(accelerator.current_accelerator()), count=accelerator.device_count(), cold=device.state)
tell(available=accelerator.is_available(), driver=device.level, index=accelerator.current_device_index())
accelerator.set_device_index(1)
tell(now=accelerator.current_device_index(), cuda=torch.cuda.current_device())
tell(stream=accelerator.current_stream().device.index)
accelerator.synchronize()
tell(memory=accelerator.memory_allocated())
""",
        after=_TWO,
    )
    assert program.told == {
        "which": "cuda",
        "count": 2,
        "cold": "cold",
        "available": True,
        "driver": "driver",
        "index": 0,
        "now": 1,
        "cuda": 1,
        "stream": 1,
        "memory": 0,
    }


_REFUSED = (
    ("torch.zeros(1, device='cuda')", "tensors on the device", "context"),
    ("torch.ones(1).cuda()", "tensors on the device", "context"),
    ("torch.ones(1).to('cuda:1')", "tensors on the device", "context"),
    ("torch.tensor([1.0], device='cuda')", "tensors on the device", "context"),
    ("torch.nn.Linear(2, 2).to('cuda')", "tensors on the device", "context"),
    ("torch.cuda.Stream()", "streams other than the default one", "context"),
    ("torch.cuda.Event().record()", "recording an event", "driver"),
    ("torch.cuda.CUDAGraph()", "torch.cuda.CUDAGraph", None),
    ("torch.cuda.MemPool()", "torch.cuda.MemPool", None),
    ("torch.cuda.memory_snapshot()", "torch._C._cuda_memorySnapshot", None),
    ("torch.cuda._sleep(1)", "torch._C._cuda_sleep", None),
    ("torch.cuda.cudart().cudaProfilerStart()", "torch.cuda.cudart().cudaProfilerStart", "driver"),
)


@pytest.mark.parametrize(("code", "what", "level"), _REFUSED, ids=[code for code, _, _ in _REFUSED])
def test_what_is_not_simulated_says_so_after_waking_what_it_would_wake(
    run: Run, code: str, what: str, level: str | None
) -> None:
    program = run(
        f"""
for attempt in range(2):
    try:
        {code}
    except coldfork.virtual.NotSimulatedError as error:
        tell(said=str(error), level=device.level, attempt=attempt)
""",
        after=_TWO,
    )
    assert program.told == {
        "said": f"coldfork's virtual device does not simulate {what}; work on CPU tensors, run this part "
        "on a real device, or let coldfork.virtual.device(..., redirect=True) do the work on the CPU: "
        "the virtual device can only be initialised",
        "level": level,
        "attempt": 1,
    }


def test_in_a_poisoned_child_a_tensor_ends_in_torchs_words(run: Run) -> None:
    program = run(
        f"""
try:
    torch.zeros(1, device="cuda")
except coldfork.virtual.NotSimulatedError:
    pass
{_FORK}
in_child(lambda: torch.zeros(1, device="cuda"))
""",
        after=_ONE,
    )
    assert program.told == {"child": "RuntimeError", "said": _SPAWN_SAYS}


def test_only_the_default_stream_is_there_and_nothing_waits_in_it(run: Run) -> None:
    program = run(
        """
stream = torch.cuda.current_stream()
stream.synchronize()
torch.cuda.synchronize()
tell(handle=stream.cuda_stream, device=str(stream.device), same=stream == torch.cuda.default_stream(0),
     other=stream == torch.cuda.default_stream(1), idle=stream.query())
tell(capturing=torch.cuda.is_current_stream_capturing())
with torch.cuda.stream(torch.cuda.default_stream(1)):
    tell(inside=torch.cuda.current_device())
tell(after=torch.cuda.current_device(), event=torch.cuda.Event().query())
""",
        after=_TWO,
    )
    assert program.told == {
        "handle": 0,
        "device": "cuda:0",
        "same": True,
        "other": False,
        "idle": True,
        "capturing": False,
        "inside": 1,
        "after": 0,
        "event": True,
    }


def test_random_numbers_can_be_seeded(run: Run) -> None:
    program = run(
        """
torch.manual_seed(3)
tell(cold=device.state)
torch.cuda.init()
tell(seeds=[generator.initial_seed() for generator in torch.cuda.default_generators])
torch.cuda.manual_seed_all(7)
tell(now=torch.cuda.initial_seed(), state=len(torch.cuda.get_rng_state()) > 10)
""",
        after=_TWO,
    )
    assert program.told == {"cold": "cold", "seeds": [3, 3], "now": 7, "state": True}


@pytest.mark.parametrize(
    ("after", "order"),
    [
        (_ONE, ""),
        pytest.param(_TORCH, "install()", marks=BEFORE),
        (_TORCH, ""),
    ],
    ids=["install(); import torch", "import torch; install()", "import torch"],
)
def test_fake_tensors_and_compilation_work_as_without_it(run: Run, after: str, order: str) -> None:
    code = f"""
from coldfork.virtual import install
{order}
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
with FakeTensorMode() as mode:
    made = [torch.empty(3, device="cuda"), torch.ones(2).to("cuda:0"), torch.tensor([1.0], device="cuda")]
    tell(devices=[str(tensor.device) for tensor in made], sum=str((made[0] + 1).sum().cpu().device))
compiled = torch.compile(lambda tensor: torch.relu(tensor) + 1, backend="eager")
tell(result=compiled(torch.ones(2)).tolist())
"""
    quiet = {"PYTHONWARNINGS": "ignore", "CUDA_VISIBLE_DEVICES": None}
    told = run(code, after=after, environment=quiet).told
    assert told == {"devices": ["cuda:0"] * 3, "sum": "cpu", "result": [2.0, 2.0]}


@BEFORE
def test_after_the_block_torch_sees_no_device_and_still_knows_what_it_woke(run: Run) -> None:
    program = run(
        """
import coldfork.virtual
with coldfork.virtual.device("h100") as device:
    tell(inside=torch.cuda.is_available())
tell(outside=torch.cuda.is_available(), state=device.state)
try:
    torch.cuda.init()
except RuntimeError as error:
    tell(said=str(error))
""",
        after=_TORCH,
    )
    assert program.told == {
        "inside": True,
        "outside": False,
        "state": "awake",
        "said": "No CUDA GPUs are available",
    }


def test_torch_says_that_it_was_built_for_the_device(run: Run) -> None:
    program = run(
        """
import coldfork.virtual
coldfork.virtual.install("b200")
import torch
tell(cuda=torch.version.cuda, built=torch.backends.cuda.is_built(), bf16=torch.cuda.is_bf16_supported())
tell(capability=torch.cuda.get_device_capability(), name=torch.cuda.get_device_name())
"""
    )
    assert program.told == {
        "cuda": "12.8",
        "built": True,
        "bf16": True,
        "capability": [10, 0],
        "name": "NVIDIA B200",
    }


_REAL_BUILD = {
    "__init__.py": "from torch import version, _C\n",
    "version.py": "__version__ = '2.13.0+cu130'\ncuda = '13.0'\n",
    "_C.py": """
class _CudaStreamBase: pass
def _cuda_getDeviceCount(): raise AssertionError("asked the real driver")
def _cuda_sleep(cycles): raise AssertionError("asked the real driver")
""",
    "cuda.py": "",
}
"""As much of a build for real devices as matters before anything is computed."""


@pytest.fixture
def real_build(tmp_path: Path) -> dict[str, str]:
    """The environment in which that is the torch that is imported."""
    package = tmp_path / "elsewhere" / "torch"
    package.mkdir(parents=True)
    for name, text in _REAL_BUILD.items():
        (package / name).write_text(text, encoding="utf-8")
    return {"PYTHONPATH": os.pathsep.join((str(SOURCE), str(package.parent)))}


def test_what_a_build_for_real_devices_would_ask_the_driver_is_taken_out(
    run: Run, real_build: dict[str, str]
) -> None:
    program = run(
        """
import coldfork.virtual
coldfork.virtual.install("h100")
import torch
tell(count=torch._C._cuda_getDeviceCount(), left=hasattr(torch._C, "_CudaStreamBase"))
tell(sleep=hasattr(torch._C, "_cuda_sleep"), toolkit=torch.version.cuda)
""",
        environment=real_build,
    )
    assert program.told == {"count": 1, "left": False, "sleep": False, "toolkit": "12.8"}


def test_a_build_for_real_devices_that_was_imported_before_is_refused(
    run: Run, real_build: dict[str, str]
) -> None:
    program = run(
        """
import torch, torch.cuda
import coldfork.virtual
try:
    coldfork.virtual.install("h100")
except coldfork.virtual.VirtualDeviceError as error:
    tell(said=str(error))
""",
        environment=real_build,
    )
    assert program.told == {
        "said": "install the virtual device before importing torch, or use the CPU build of torch: "
        "this one is built for real devices and is already imported"
    }
