"""All probes together: what they say has the shape of the model, costs little, and survives odd programs."""

from __future__ import annotations

import sys

import pytest

from coldfork.model.states import Level, Status
from coldfork.observe.probes import reading
from coldfork.observe.probes.examination import ORDER, Examination, joined
from coldfork.observe.probes.maps import Maps
from coldfork.observe.probes.process import ProbedProcess
from coldfork.observe.probes.reading import Reading
from tests.observe.probing import ask

# What asking may import into a program that is watched. `struct` is what `ctypes` needs.
FROM_THE_STANDARD_LIBRARY = {"__future__", "_ctypes", "_struct", "ctypes", "ctypes._endian", "struct"}


class Machine(ProbedProcess):
    """A process that somebody else made up."""

    def __init__(
        self,
        *libraries: str,
        opened: tuple[str, ...] | None = (),
        forked: bool = False,
        settings: dict[str, str] | None = None,
        modules: dict[str, dict[str, object]] | None = None,
    ) -> None:
        super().__init__(None)
        lines = [f"{n:x}000-{n:x}fff r-xp 00000000 00:00 1 {path}" for n, path in enumerate(libraries, 16)]
        self._maps = Maps("\n".join(lines).encode())
        self._opened = opened
        self._forked = forked
        self._settings = settings or {}
        self._modules = modules or {}

    @property
    def threads(self) -> tuple[()]:
        return ()

    @property
    def forked(self) -> bool:
        return self._forked

    def module(self, name: str) -> dict[str, object] | None:
        return self._modules.get(name)

    def setting(self, name: str) -> str | None:
        return self._settings.get(name)

    def holds_open(self, *paths: str) -> str | None:
        if self._opened is None:
            raise PermissionError("/proc/self/fd")
        return next((path for path in self._opened if path in paths), None)


def status(machine: Machine, accelerator: str) -> str:
    """The status of one accelerator on a machine that somebody made up."""
    found = {one.accelerator: one.status for one in Examination().readings(process=machine)}
    assert tuple(found) == ORDER
    return found[accelerator]


def test_the_words_are_those_of_the_model() -> None:
    said = {reading.ABSENT, reading.COLD, reading.AWAKE, reading.POISONED, reading.UNKNOWN}
    assert said == {member.value for member in Status}
    assert {reading.DRIVER, reading.CONTEXT} == {member.value for member in Level}


def test_every_accelerator_has_one_state_of_the_model() -> None:
    said = ask(
        """
from coldfork.model.states import Level, State, Status
found = states.examine()
tell(names=[one.accelerator for one in found], all=all(type(one) is State for one in found))
tell(statuses=all(type(one.status) is Status for one in found))
tell(objects=[one.as_object() for one in states.readings()][0])
"""
    )
    assert said["names"] == list(ORDER)
    assert said["all"]
    assert said["statuses"]
    assert set(said["objects"]) == {"accelerator", "status", "level", "reason", "library"}


def test_asking_imports_a_frozen_list_of_modules() -> None:
    program = """
before = set(sys.modules)
from coldfork.observe import states as again
states.Poller().awake()
states.readings()
states.remember_for_children()
found = {name for name in set(sys.modules) - before if not name.startswith("coldfork.")}
tell(found=sorted(found))
"""
    assert set(ask(program)["found"]) <= FROM_THE_STANDARD_LIBRARY


@pytest.mark.parametrize(
    ("opened", "expected"),
    [
        ((), "cold"),
        (("/dev/kfd",), "awake"),
        (("/dev/dxg",), "awake"),
        (("/dev/null",), "cold"),
        (None, "unknown"),
    ],
)
def test_rocm_is_awake_while_its_kernel_driver_is_open(opened: tuple[str, ...] | None, expected: str) -> None:
    assert status(Machine("/opt/rocm/lib/libamdhip64.so.6.2", opened=opened), "rocm") == expected


def test_an_open_kernel_driver_says_nothing_in_a_forked_child() -> None:
    machine = Machine("/opt/rocm/lib/libamdhip64.so.6.2", opened=("/dev/kfd",), forked=True)
    assert status(machine, "rocm") == "unknown"


@pytest.mark.parametrize(
    ("library", "expected"),
    [
        ("/usr/lib/libm.so.6", "absent"),
        ("/usr/lib/libze_loader.so.1", "cold"),
        ("/usr/lib/libze_intel_gpu.so.1", "unknown"),
    ],
)
def test_xpu_by_the_libraries_of_level_zero(library: str, expected: str) -> None:
    assert status(Machine(library), "xpu") == expected


@pytest.mark.parametrize(
    ("libraries", "settings", "expected"),
    [
        (("/usr/lib/libm.so.6",), {}, "absent"),
        (("/usr/lib/libOpenCL.so.1",), {}, "cold"),
        (("/usr/lib/libOpenCL.so.1", "/usr/lib/libpocl.so.2"), {}, "cold"),
        (("/usr/lib/libOpenCL.so.1", "/usr/lib/libpocl.so.2"), {"POCL_DEVICES": "basic"}, "unknown"),
        (("/usr/lib/libOpenCL.so.1", "/usr/lib/libnvidia-opencl.so.1"), {}, "unknown"),
        (("/usr/lib/libpocl.so.2", "/opt/libamdocl64.so"), {}, "unknown"),
    ],
)
def test_opencl_by_the_drivers_that_its_loader_opened(
    libraries: tuple[str, ...], settings: dict[str, str], expected: str
) -> None:
    assert status(Machine(*libraries, settings=settings), "opencl") == expected


def test_pytorch_for_rocm_says_rocm_and_not_cuda() -> None:
    said = ask(
        """
import types
for name in ("torch.cuda", "torch.version"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["torch.cuda"]._initialized = True
sys.modules["torch.version"].hip = "6.2.1"
tell(cuda=state("cuda"), rocm=state("rocm"), polled=states.Poller().awake())
"""
    )
    assert said == {"cuda": ["absent", None], "rocm": ["awake", "context"], "polled": [["rocm", "context"]]}


def test_flags_of_pytorch() -> None:
    said = ask(
        """
import types
cuda, xpu = types.ModuleType("torch.cuda"), types.ModuleType("torch.xpu")
sys.modules.update({"torch.cuda": cuda, "torch.xpu": xpu})
poller = states.Poller()
# Half imported: there is no flag yet.
tell(half=[state("cuda"), state("xpu"), poller.awake()])
cuda._initialized = xpu._initialized = False
cuda._is_in_bad_fork = xpu._is_in_bad_fork = lambda: False
tell(off=[state("cuda"), state("xpu"), poller.awake()])
xpu._initialized = True
tell(on=[state("cuda"), state("xpu"), poller.awake()])
cuda._is_in_bad_fork = lambda: True
tell(bad=[state("cuda"), reason("cuda")])
def explode():
    raise OSError("the driver is gone")
cuda._is_in_bad_fork = explode
tell(failed=[state("cuda"), reason("cuda")])
"""
    )
    absent, awake = ["absent", None], ["awake", "context"]
    assert said == {
        "half": [absent, absent, []],
        "off": [absent, absent, []],
        "on": [absent, awake, [["xpu", "context"]]],
        "bad": [
            ["poisoned", None],
            "PyTorch says that this process was forked from one in which it had touched the device",
        ],
        "failed": [["unknown", None], "the probe failed: OSError: the driver is gone"],
    }


@pytest.mark.must_hold
def test_real_pytorch_is_asked_at_every_stage_of_its_import() -> None:
    pytest.importorskip("torch")
    said = ask(
        """
import importlib._bootstrap as bootstrap
poller, heard, load = states.Poller(), set(), bootstrap._load_unlocked
def asked(spec):
    module = load(spec)
    heard.update(poller.awake())
    if spec.name.startswith("torch.cuda") or spec.name in ("torch._C", "torch.version"):
        heard.update((one.accelerator, one.status) for one in states.readings())
    return module
bootstrap._load_unlocked = asked
import torch
bootstrap._load_unlocked = load
tell(awake=sorted(one for one in heard if one[1] not in ("absent", "cold")))
tell(failures=poller.failures, cuda=state("cuda"), xpu=state("xpu"))
torch.cuda._initialized = True
tell(flag=state("cuda"), polled=poller.awake())
"""
    )
    assert said == {
        "awake": [],
        "failures": {},
        "cuda": ["absent", None],
        "xpu": ["absent", None],
        "flag": ["awake", "context"],
        "polled": [["cuda", "context"]],
    }


def test_odd_things_among_the_modules_are_neither_run_nor_believed() -> None:
    said = ask(
        """
class Odd:
    def __getattribute__(self, name):
        raise KeyboardInterrupt("asked for " + name)
import importlib.util, types
class Lazy(types.ModuleType):
    def __getattribute__(self, name):
        raise KeyboardInterrupt("would load itself for " + name)
for name in ("torch.cuda", "torch.xpu", "torch.version"):
    sys.modules[name] = Odd()
sys.modules["jax._src.xla_bridge"] = Lazy("jax._src.xla_bridge")
sys.modules["coldfork.virtual.installation"] = Odd()
poller = states.Poller()
tell(polled=poller.awake(), failures=poller.failures)
tell(cuda=state("cuda"), xpu=state("xpu"), jax=state("jax"))
sys.modules["torch.cuda"] = sys.modules["torch.xpu"] = None
tell(none=[state("cuda"), state("xpu"), poller.awake()])
"""
    )
    absent = ["absent", None]
    assert said == {
        "polled": [],
        "failures": {},
        "cuda": absent,
        "xpu": absent,
        "jax": ["unknown", None],
        "none": [absent, absent, []],
    }


def test_where_a_system_does_not_show_libraries_absent_is_not_claimed() -> None:
    machine = Machine()
    said = {one.accelerator: one.status for one in Examination().readings(process=machine)}
    assert said["openmp"] == said["opencl"] == said["polars"] == said["tokenizers"] == "unknown"
    assert said["jax"] == said["jax-cpu"] == "absent"
    drivers = {said["cuda"], said["rocm"], said["xpu"]}
    assert drivers == ({"absent"} if sys.platform == "darwin" else {"unknown"})


def test_a_probe_that_fails_is_unknown_with_what_went_wrong() -> None:
    class Broken(Machine):
        def library(self, *prefixes: str) -> str | None:
            raise RuntimeError("no idea")

    for one in Examination().readings(process=Broken("/lib/libc.so.6")):
        assert (one.status, one.reason) == ("unknown", "the probe failed: RuntimeError: no idea")


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        (("cold", None), ("awake", "context"), ("awake", "context")),
        (("awake", "driver"), ("awake", "context"), ("awake", "context")),
        (("unknown", None), ("cold", None), ("unknown", None)),
        (("awake", "driver"), ("unknown", None), ("awake", "driver")),
        (("poisoned", None), ("awake", "context"), ("poisoned", None)),
        (("absent", None), ("cold", None), ("cold", None)),
    ],
)
def test_two_probes_of_one_accelerator_are_joined(
    one: tuple[str, str | None], two: tuple[str, str | None], expected: tuple[str, str | None]
) -> None:
    first, second = (Reading("cuda", status, level=level) for status, level in (one, two))
    for together in (joined(first, second), joined(second, first)):
        assert (together.status, together.level) == expected


@pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's /proc")
def test_handlers_of_a_fork_that_were_registered_later_hear_what_was_recorded() -> None:
    said = ask(
        """
import types
cuda = types.ModuleType("torch.cuda")
sys.modules["torch.cuda"] = cuda
cuda._initialized = True
poller = states.Poller()
heard = []
os.register_at_fork(before=states.remember_for_children)
os.register_at_fork(after_in_child=lambda: heard.append([state("cuda"), poller.awake()]))
tell(child=in_child(lambda: heard), parent=[state("cuda"), poller.awake()])
"""
    )
    assert said == {
        "child": [[["poisoned", None], []]],
        "parent": [["awake", "context"], [["cuda", "context"]]],
    }


@pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's /proc")
def test_what_was_noted_outside_a_fork_is_never_handed_to_one_that_python_does_not_see() -> None:
    said = ask(
        """
import ctypes
from coldfork.observe.probes.reading import Reading
# Noted while it was cold, and not for a fork.
states._HERE.lineage.remember([Reading("openmp", "cold")])
receiving, sending = os.pipe()
child = ctypes.CDLL(None).fork()
if not child:
    os.write(sending, json.dumps(states._HERE.lineage.recorded is None).encode())
    os._exit(0)
os.waitpid(child, 0)
tell(unrecorded=json.loads(os.read(receiving, 100)))
"""
    )
    assert said == {"unrecorded": True}


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
def test_two_threads_that_fork_at_once_keep_their_records_apart() -> None:
    said = ask(
        """
import threading
results = []
def fork():
    for _ in range(20):
        states.remember_for_children()
        results.append(in_child(lambda: states._HERE.lineage.recorded is not None))
threads = [threading.Thread(target=fork) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
tell(recorded=all(one is True for one in results), count=len(results))
"""
    )
    assert said == {"recorded": True, "count": 60}
