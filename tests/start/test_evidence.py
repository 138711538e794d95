"""Every piece of evidence by itself and in every combination, in processes that somebody made up."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from inline_snapshot import snapshot

from coldfork.model.decisions import EVERY, Weight
from coldfork.model.states import Waker
from coldfork.observe.forking.idle_threads import PythonThread
from coldfork.start.evidence.table import gather
from coldfork.start.forkserver import Server
from coldfork.start.policy import decided
from coldfork.start.static_reach.answers import ReachAnswer, Reached
from coldfork.start.targets import Target
from tests.start.surroundings import MadeUpSurroundings, thing

pytestmark = pytest.mark.once

HARM, DOUBT, CIRCUMSTANCE = Weight.HARM, Weight.DOUBT, Weight.CIRCUMSTANCE
GOMP = "/lib/libgomp.so.1"


@dataclass(frozen=True)
class Fact:
    """Something that is so in a process, and what it must be taken for."""

    name: str
    make: Callable[[MadeUpSurroundings], object]
    code: str | None
    weight: Weight | None = HARM
    against: str = "fork"


def awake(accelerator: str, level: str | None = None) -> Fact:
    return Fact(
        f"{accelerator} awake {level}",
        lambda surroundings: surroundings.turn(accelerator, "awake", level=level),
        f"{accelerator}-awake",
    )


def turned(accelerator: str, status: str, code: str | None, weight: Weight | None) -> Fact:
    return Fact(
        f"{accelerator} {status}",
        lambda surroundings: surroundings.turn(accelerator, status, reason="so"),
        code,
        weight,
    )


def module(name: str, **names: object) -> Callable[[MadeUpSurroundings], object]:
    return lambda surroundings: surroundings.modules.update({name: names})


def numba(surroundings: MadeUpSurroundings, layer: str, *, workers: bool) -> None:
    surroundings.modules["numba.np.ufunc.parallel"] = {"_threading_layer": layer}
    if workers:
        surroundings.thread(GOMP, mine=False)


def tokenizers(value: str | None, status: str = "awake") -> Callable[[MadeUpSurroundings], object]:
    def make(surroundings: MadeUpSurroundings) -> None:
        surroundings.turn("tokenizers", status, reason="so")
        if value is not None:
            surroundings.settings["TOKENIZERS_PARALLELISM"] = value

    return make


def strict(
    surroundings: MadeUpSurroundings,
    *,
    asked: bool = True,
    framework: bool = True,
    device: bool = True,
    visible: str | None = None,
) -> None:
    surroundings.strict = asked
    if framework:
        surroundings.modules["torch"] = {}
    if device:
        surroundings.devices.append("/dev/nvidia0")
    if visible is not None:
        surroundings.settings["CUDA_VISIBLE_DEVICES"] = visible


def target(answer: ReachAnswer) -> Callable[[MadeUpSurroundings], object]:
    def make(surroundings: MadeUpSurroundings) -> None:
        surroundings.target = Target(answer.module, "work", "work.py")
        surroundings.answers[answer.module] = answer

    return make


DEVICES = ("cuda", "rocm", "xpu", "opencl", "jax", "jax-cpu", "polars")
WAKES = ReachAnswer("work", Reached.WAKES, None, "cuda", "certain", "work.py", 3)

SINGLE = (
    *(awake(accelerator, level) for accelerator in DEVICES for level in ("driver", "context", None)),
    *(turned(name, "poisoned", f"{name}-poisoned", HARM) for name in DEVICES),
    *(turned(name, "unknown", f"{name}-unknown", DOUBT) for name in (*DEVICES, "openmp", "tokenizers")),
    *(turned(name, "cold", None, None) for name in (*DEVICES, "openmp", "tokenizers")),
    turned("openmp", "awake", None, None),
    turned("openmp", "poisoned", "openmp-poisoned", DOUBT),
    Fact("my pool", lambda surroundings: surroundings.thread(GOMP, mine=True), "openmp-pool-of-this-thread"),
    Fact("pool of another thread", lambda surroundings: surroundings.thread(GOMP, mine=False), None),
    Fact("pool of nobody knows", lambda surroundings: surroundings.thread(GOMP), "openmp-pool-of-unknown-thread", DOUBT),
    Fact("bundled libgomp", lambda surroundings: surroundings.thread("/x/libgomp-e985.so.1", mine=True), "openmp-pool-of-this-thread"),
    Fact("OpenMP of Intel", lambda surroundings: surroundings.thread("/lib/libiomp5.so", mine=True), None),
    Fact("OpenMP of LLVM", lambda surroundings: surroundings.thread("/lib/libomp.so.5", mine=True), None),
    Fact("OpenBLAS", lambda surroundings: surroundings.thread("/x/libscipy_openblas64_-32a4.so"), None),
    Fact("OpenBLAS of the system", lambda surroundings: surroundings.thread("/lib/libopenblas.so.0"), None),
    Fact("Arrow", lambda surroundings: surroundings.thread("/x/libarrow.so.2600"), None),
    Fact("numba on workqueue", lambda surroundings: surroundings.thread("/x/workqueue.cpython-311-x86_64-linux-gnu.so"), None),
    Fact("ZeroMQ", lambda surroundings: surroundings.thread("/x/libzmq-2f02442c.so.5.2.5", "ZMQbg/IO/0"), None),
    Fact("gRPC", lambda surroundings: surroundings.thread("/x/cygrpc.cpython-311-x86_64-linux-gnu.so"), "grpc-without-fork-support"),
    Fact("threads of polars that its import starts", lambda surroundings: surroundings.thread("/x/_polars_runtime.abi3.so"), None),
    Fact("numba on omp", lambda surroundings: numba(surroundings, "omp", workers=True), "numba-on-gnu-openmp"),
    Fact("numba on omp, no pool", lambda surroundings: numba(surroundings, "omp", workers=False), "numba-on-openmp", DOUBT),
    Fact("numba on tbb", lambda surroundings: numba(surroundings, "tbb", workers=True), None),
    Fact("numba unused", module("numba.np.ufunc.parallel", _threading_layer=None), None),
    Fact("tokenizers, unset", tokenizers(None), None),
    *(Fact(f"tokenizers {off!r}", tokenizers(off), None) for off in ("", "0", "false", "False", "no", "OFF", "n")),
    *(Fact(f"tokenizers {on!r}", tokenizers(on), "tokenizers-pool") for on in ("1", "true", "yes", "anything")),
    Fact("tokenizers poisoned", tokenizers("true", "poisoned"), "tokenizers-pool"),
    Fact("unknown library", lambda surroundings: surroundings.thread("/x/libstrange.so"), "native-threads", DOUBT),
    Fact("torch.set_num_threads", lambda surroundings: surroundings.thread("/x/libtorch_cpu.so", "python"), None),
    Fact("torch's autograd", lambda surroundings: surroundings.thread("/x/libtorch_cpu.so", "pt_autograd_0"), "native-threads", DOUBT),
    Fact("no library", lambda surroundings: surroundings.thread(None), "native-threads", DOUBT),
    Fact("threads unreadable", lambda surroundings: setattr(surroundings, "threads", None), "threads-unreadable", DOUBT),
    Fact("Python thread", lambda surroundings: surroundings.python_threads.append(PythonThread("Thread-1")), "python-threads", DOUBT),
    Fact("idle Python thread", lambda surroundings: surroundings.python_threads.append(PythonThread("Thread-1", idle=True)), None),
    Fact("thread that imports", lambda surroundings: surroundings.python_threads.append(PythonThread("Thread-1", importing="torch")), "module-being-imported"),
    Fact("Windows", lambda surroundings: setattr(surroundings, "methods", ("spawn",)), "no-fork-here"),
    Fact("macOS", lambda surroundings: setattr(surroundings, "platform", "darwin"), "macos", DOUBT),
    Fact("Ray worker", module("ray._private.worker", global_worker=thing(mode=1)), "ray-worker", CIRCUMSTANCE),
    Fact("Ray driver", module("ray._private.worker", global_worker=thing(mode=0)), None),
    Fact("Ray imported", module("ray._private.worker", global_worker=thing(mode=None)), None),
    Fact("WSL", lambda surroundings: setattr(surroundings, "release", "5.15-microsoft-standard-WSL2"), "wsl", CIRCUMSTANCE),
    Fact("Jupyter", module("ipykernel.kernelapp", IPKernelApp=thing(_instance=object())), "jupyter", CIRCUMSTANCE),
    Fact("ipykernel imported", module("ipykernel.kernelapp", IPKernelApp=thing(_instance=None)), None),
    Fact("XPU build", module("torch.version", xpu="20250101"), "xpu-build", CIRCUMSTANCE),
    Fact("CUDA build", module("torch.version", xpu=None, cuda="12.8"), None),
    Fact("NUMA", lambda surroundings: surroundings.arguments.append("--numa-bind"), "numa-binding", CIRCUMSTANCE),
    Fact("method asked for", lambda surroundings: surroundings.settings.update(MULTIPROCESSING_START_METHOD="spawn"), "method-asked-for", CIRCUMSTANCE),
    Fact("fork asked for", lambda surroundings: surroundings.settings.update(MULTIPROCESSING_START_METHOD="fork"), None),
    Fact("daemon", module("multiprocessing.process", _current_process=thing(_config={"daemon": True})), "daemon", HARM, EVERY),
    Fact("no daemon", module("multiprocessing.process", _current_process=thing(_config={})), None),
    Fact("strict", strict, "framework-and-device", DOUBT),
    Fact("strict, no framework", lambda surroundings: strict(surroundings, framework=False), None),
    Fact("strict, no device", lambda surroundings: strict(surroundings, device=False), None),
    Fact("strict, hidden", lambda surroundings: strict(surroundings, visible=""), None),
    Fact("strict, one visible", lambda surroundings: strict(surroundings, visible="1"), "framework-and-device", DOUBT),
    Fact("not strict", lambda surroundings: strict(surroundings, asked=False), None),
    Fact("target wakes", target(WAKES), "target-wakes-device", DOUBT),
    Fact("target unknown", target(ReachAnswer.unknown("work", "it took too long")), "target-unknown", DOUBT),
    Fact("target cold", target(ReachAnswer("work", Reached.NOTHING)), None),
)  # fmt: skip


@pytest.mark.parametrize("fact", SINGLE, ids=lambda fact: fact.name)
def test_each_piece_of_evidence(fact: Fact) -> None:
    surroundings = MadeUpSurroundings()
    fact.make(surroundings)
    found = gather(surroundings)
    about = [(one.code, one.weight, one.against) for one in found if one.against in ("fork", EVERY)]
    expected = [] if fact.code is None else [(fact.code, fact.weight, fact.against)]
    assert about == expected
    forbids = bool(expected) and fact.against == "fork"
    assert decided(found).method == ("spawn" if forbids else "fork")
    assert all(one.vetoes == (one.against == "fork" and one.weight is HARM) for one in found)


# One of each kind: everything that can be so at once.
COMBINED = tuple(
    fact
    for fact in SINGLE
    if fact.name
    in {
        "cuda awake driver",
        "xpu unknown",
        "opencl poisoned",
        "polars awake None",
        "my pool",
        "OpenBLAS",
        "tokenizers 'true'",
        "unknown library",
        "Python thread",
        "Ray worker",
        "WSL",
        "Jupyter",
        "daemon",
        "strict",
        "target wakes",
    }
)


@pytest.mark.must_hold
def test_every_combination_of_evidence() -> None:
    assert len(COMBINED) == 15
    methods = set()
    for size in range(len(COMBINED) + 1):
        for facts in itertools.combinations(COMBINED, size):
            surroundings = MadeUpSurroundings()
            for fact in facts:
                fact.make(surroundings)
            found = gather(surroundings)
            known = [fact for fact in facts if fact.code is not None]
            # A target is not looked at where something harmful speaks against fork anyway.
            harmed = any(fact.weight is HARM and fact.against == "fork" for fact in known)
            expected = {fact.code for fact in known if not (harmed and fact.name == "target wakes")}
            about = [one for one in found if one.against != "forkserver"]
            assert {one.code for one in about} == expected
            assert [one.weight.rank for one in found] == sorted(
                (one.weight.rank for one in found), reverse=True
            )
            method = decided(found).method
            assert method == ("spawn" if any(fact.against == "fork" for fact in known) else "fork")
            methods.add(method)
    assert methods == {"fork", "spawn"}


def test_a_reason_names_the_line_that_woke_the_device() -> None:
    surroundings = MadeUpSurroundings()
    surroundings.turn("cuda", "awake", level="context")
    surroundings.wakers["cuda"] = Waker(
        "package.backend", "package/backend.py", 12, "Backend", None, "MainThread"
    )
    (reason,) = (one for one in gather(surroundings) if one.against == "fork")
    assert reason.text == "cuda is awake here (level context) (woken by package/backend.py:12)"
    assert reason.waker is surroundings.wakers["cuda"]
    assert ("status", "awake") in reason.evidence


@pytest.mark.parametrize(
    ("server", "answers", "codes", "method"),
    [
        (Server(), {}, ["forkserver-preloads-nothing"], "spawn"),
        (Server(("cold",)), {}, [], "forkserver"),
        (Server(("cold",), running=True), {}, [], "forkserver"),
        (Server(("cold",), running=True, differences=("CUDA_VISIBLE_DEVICES",)), {}, ["forkserver-environment"], "spawn"),
        (Server(("work", "cold")), {"work": WAKES}, ["forkserver-preload-wakes"], "spawn"),
        (Server(("work",)), {"work": ReachAnswer.unknown("work", "so")}, ["forkserver-preload-unknown"], "spawn"),
    ],
)  # fmt: skip
def test_a_forkserver_is_chosen_only_where_it_is_clean_and_pays(
    server: Server, answers: dict[str, ReachAnswer], codes: list[str], method: str
) -> None:
    surroundings = MadeUpSurroundings()
    surroundings.server, surroundings.answers = server, answers
    assert decided(gather(surroundings)).method == "fork"
    assert gather(surroundings) == ()
    surroundings.turn("cuda", "awake", level="driver")
    found = gather(surroundings)
    assert [one.code for one in found if one.against == "forkserver"] == codes
    assert decided(found).method == method


@pytest.mark.parametrize("how", ["loaded", "target"])
def test_vllm_gets_spawn_and_never_a_forkserver(how: str) -> None:
    surroundings = MadeUpSurroundings()
    surroundings.server = Server(("cold",))
    surroundings.turn("cuda", "awake", level="driver")
    assert decided(gather(surroundings)).method == "forkserver"
    if how == "loaded":
        surroundings.modules["vllm"] = {}
    else:
        surroundings.target = Target("vllm.v1.engine.core", "run", "core.py")
    decision = decided(gather(surroundings))
    assert decision.method == "spawn"
    assert "vllm-refuses-forkserver" in {one.code for one in decision.against("forkserver")}


@pytest.mark.parametrize(
    ("target", "code"),
    [
        (Target("__main__", "work", None), "target-has-no-file"),
        (Target("package.work", "start.<locals>.work", "work.py"), "target-cannot-be-pickled"),
        (Target("package.work", "<lambda>", "work.py"), "target-cannot-be-pickled"),
    ],
)
def test_what_only_a_fork_can_start_is_forked_in_spite_of_circumstances_and_not_of_doubts(
    target: Target, code: str
) -> None:
    surroundings = MadeUpSurroundings()
    surroundings.target = target
    surroundings.release = "5.15-microsoft"
    decision = decided(gather(surroundings))
    assert decision.method == "fork"
    assert [one.code for one in decision.against("spawn")] == [code]
    assert (
        decision.because
        == "the other methods cannot work, although this is WSL, where NVML does not survive a fork"
    )
    surroundings.python_threads.append(PythonThread("Thread-1"))
    decision = decided(gather(surroundings))
    assert decision.method == "spawn"
    # What will happen is said before it does.
    assert decision.because.endswith(f"; but {decision.against('spawn')[0].text}")
    assert surroundings.asked == [] if target.has_no_file else ["package.work"] * 2


@pytest.mark.parametrize("name", ["--numa-bind", "--numa-bind=0"])
def test_numa_binding_leaves_only_spawn(name: str) -> None:
    surroundings = MadeUpSurroundings()
    surroundings.arguments.append(name)
    surroundings.server = Server(("cold",))
    decision = decided(gather(surroundings))
    assert decision.method == "spawn"
    assert {one.against for one in decision.reasons} == {"fork", "forkserver"}


def test_an_interpreter_replaced_for_spawned_processes_counts_as_numa_binding() -> None:
    surroundings = MadeUpSurroundings()
    surroundings.modules["sys"] = {"executable": "/usr/bin/python3"}
    surroundings.modules["multiprocessing.spawn"] = {"_python_exe": b"/usr/bin/python3"}
    assert gather(surroundings) == ()
    surroundings.modules["multiprocessing.spawn"] = {"_python_exe": b"/opt/numactl-python"}
    assert decided(gather(surroundings)).method == "spawn"


def test_objects_that_fail_when_they_are_asked_are_no_evidence() -> None:
    class Broken:
        def __getattr__(self, name: str) -> object:
            raise RuntimeError("not ready")

    surroundings = MadeUpSurroundings()
    surroundings.modules["ray._private.worker"] = {"global_worker": Broken()}
    surroundings.modules["ipykernel.kernelapp"] = {"IPKernelApp": Broken()}
    surroundings.modules["multiprocessing.process"] = {"_current_process": Broken()}
    assert gather(surroundings) == ()


def test_the_target_is_not_looked_at_where_it_does_not_matter() -> None:
    surroundings = MadeUpSurroundings()
    surroundings.target = Target("work", "work", "work.py")
    gather(surroundings)
    assert surroundings.asked == ["work"]
    surroundings.turn("cuda", "awake", level="driver")
    gather(surroundings)
    assert surroundings.asked == ["work"]


def test_the_words_of_each_piece_of_evidence() -> None:
    said: dict[str, list[object]] = {}
    for fact in SINGLE:
        surroundings = MadeUpSurroundings()
        fact.make(surroundings)
        for one in gather(surroundings):
            said.setdefault(one.code, [one.text, one.remedies, dict(one.evidence)])
    assert said == snapshot(
        {
            "cuda-awake": [
                "cuda is awake here (level driver)",
                (
                    "start the process with spawn: it begins without any of this",
                    "wake the device only in the processes that use it, after they have been started",
                ),
                {"accelerator": "cuda", "status": "awake", "level": "driver"},
            ],
            "forkserver-preloads-nothing": [
                "its server would preload nothing, so it saves nothing over spawn",
                ("name the modules to preload: multiprocessing.set_forkserver_preload([...])",),
                {},
            ],
            "rocm-awake": [
                "rocm is awake here (level driver)",
                (
                    "start the process with spawn: it begins without any of this",
                    "wake the device only in the processes that use it, after they have been started",
                ),
                {"accelerator": "rocm", "status": "awake", "level": "driver"},
            ],
            "xpu-awake": [
                "xpu is awake here (level driver)",
                (
                    "start the process with spawn: it begins without any of this",
                    "wake the device only in the processes that use it, after they have been started",
                ),
                {"accelerator": "xpu", "status": "awake", "level": "driver"},
            ],
            "opencl-awake": [
                "opencl is awake here (level driver)",
                (
                    "start the process with spawn: it begins without any of this",
                    "wake the device only in the processes that use it, after they have been started",
                ),
                {"accelerator": "opencl", "status": "awake", "level": "driver"},
            ],
            "jax-awake": [
                "jax is awake here (level driver)",
                (
                    "start the process with spawn: it begins without any of this",
                    "wake the device only in the processes that use it, after they have been started",
                ),
                {"accelerator": "jax", "status": "awake", "level": "driver"},
            ],
            "jax-cpu-awake": [
                "jax-cpu is awake here (level driver)",
                ("start the process with spawn: it begins without any of this",),
                {"accelerator": "jax-cpu", "status": "awake", "level": "driver"},
            ],
            "polars-awake": [
                "polars is awake here (level driver)",
                ("start the process with spawn: it begins without any of this",),
                {"accelerator": "polars", "status": "awake", "level": "driver"},
            ],
            "cuda-poisoned": [
                "cuda is poisoned here: so",
                (
                    "start the process with spawn: it begins without any of this",
                    "wake the device only in the processes that use it, after they have been started",
                ),
                {"accelerator": "cuda", "status": "poisoned", "reason": "so"},
            ],
            "rocm-poisoned": [
                "rocm is poisoned here: so",
                (
                    "start the process with spawn: it begins without any of this",
                    "wake the device only in the processes that use it, after they have been started",
                ),
                {"accelerator": "rocm", "status": "poisoned", "reason": "so"},
            ],
            "xpu-poisoned": [
                "xpu is poisoned here: so",
                (
                    "start the process with spawn: it begins without any of this",
                    "wake the device only in the processes that use it, after they have been started",
                ),
                {"accelerator": "xpu", "status": "poisoned", "reason": "so"},
            ],
            "opencl-poisoned": [
                "opencl is poisoned here: so",
                (
                    "start the process with spawn: it begins without any of this",
                    "wake the device only in the processes that use it, after they have been started",
                ),
                {"accelerator": "opencl", "status": "poisoned", "reason": "so"},
            ],
            "jax-poisoned": [
                "jax is poisoned here: so",
                (
                    "start the process with spawn: it begins without any of this",
                    "wake the device only in the processes that use it, after they have been started",
                ),
                {"accelerator": "jax", "status": "poisoned", "reason": "so"},
            ],
            "jax-cpu-poisoned": [
                "jax-cpu is poisoned here: so",
                ("start the process with spawn: it begins without any of this",),
                {"accelerator": "jax-cpu", "status": "poisoned", "reason": "so"},
            ],
            "polars-poisoned": [
                "polars is poisoned here: so",
                ("start the process with spawn: it begins without any of this",),
                {"accelerator": "polars", "status": "poisoned", "reason": "so"},
            ],
            "cuda-unknown": [
                "the state of cuda is unknown: so",
                ("start the process with spawn: it begins without any of this",),
                {"accelerator": "cuda", "status": "unknown", "reason": "so"},
            ],
            "rocm-unknown": [
                "the state of rocm is unknown: so",
                ("start the process with spawn: it begins without any of this",),
                {"accelerator": "rocm", "status": "unknown", "reason": "so"},
            ],
            "xpu-unknown": [
                "the state of xpu is unknown: so",
                ("start the process with spawn: it begins without any of this",),
                {"accelerator": "xpu", "status": "unknown", "reason": "so"},
            ],
            "opencl-unknown": [
                "the state of opencl is unknown: so",
                ("start the process with spawn: it begins without any of this",),
                {"accelerator": "opencl", "status": "unknown", "reason": "so"},
            ],
            "jax-unknown": [
                "the state of jax is unknown: so",
                ("start the process with spawn: it begins without any of this",),
                {"accelerator": "jax", "status": "unknown", "reason": "so"},
            ],
            "jax-cpu-unknown": [
                "the state of jax-cpu is unknown: so",
                ("start the process with spawn: it begins without any of this",),
                {"accelerator": "jax-cpu", "status": "unknown", "reason": "so"},
            ],
            "polars-unknown": [
                "the state of polars is unknown: so",
                ("start the process with spawn: it begins without any of this",),
                {"accelerator": "polars", "status": "unknown", "reason": "so"},
            ],
            "openmp-unknown": [
                "the state of openmp is unknown: so",
                ("start the process with spawn: it begins without any of this",),
                {"accelerator": "openmp", "status": "unknown", "reason": "so"},
            ],
            "tokenizers-unknown": [
                "the state of tokenizers is unknown: so",
                ("start the process with spawn: it begins without any of this",),
                {"accelerator": "tokenizers", "status": "unknown", "reason": "so"},
            ],
            "openmp-poisoned": [
                "so, and it is not known whether the pool was the forking thread's",
                ("start the process with spawn: it begins without any of this",),
                {"accelerator": "openmp", "status": "poisoned", "reason": "so"},
            ],
            "openmp-pool-of-this-thread": [
                "this thread has run OpenMP regions of libgomp.so.1, whose pool a forked child would wait for in vain",
                (
                    "fork from a fresh thread: neither it nor the child has a pool",
                    "have libgomp release its pool before the fork: omp_pause_resource_all(omp_pause_hard)",
                    "start the process with spawn: it begins without any of this",
                ),
                {"library": "/lib/libgomp.so.1", "workers": "1", "workers of this thread": "1"},
            ],
            "openmp-pool-of-unknown-thread": [
                "libgomp.so.1 has a thread pool that may be the forking thread's",
                ("start the process with spawn: it begins without any of this",),
                {"library": "/lib/libgomp.so.1", "workers": "1", "workers of this thread": "0"},
            ],
            "grpc-without-fork-support": [
                "gRPC has open channels, and in a forked child a call fails or hangs",
                (
                    "close the channels of gRPC before the fork, and open others in the child",
                    "set GRPC_ENABLE_FORK_SUPPORT=1 before grpc is imported, and open channels of its own in the child",
                    "start the process with spawn: it begins without any of this",
                ),
                {"threads of gRPC": "1", "GRPC_ENABLE_FORK_SUPPORT": "not set"},
            ],
            "numba-on-gnu-openmp": [
                "numba has run parallel loops on GNU OpenMP, and ends a forked child that runs one",
                (
                    "choose another layer: NUMBA_THREADING_LAYER=workqueue, or tbb",
                    "start the process with spawn: it begins without any of this",
                ),
                {"threading layer": "omp", "workers of libgomp": "1"},
            ],
            "numba-on-openmp": [
                "numba has set up GNU OpenMP, and ends a forked child that runs a parallel loop if this process did",
                (
                    "choose another layer: NUMBA_THREADING_LAYER=workqueue, or tbb",
                    "start the process with spawn: it begins without any of this",
                ),
                {"threading layer": "omp", "workers of libgomp": "0"},
            ],
            "tokenizers-pool": [
                "tokenizers has encoded in parallel, and TOKENIZERS_PARALLELISM=1 lets a forked child do so too",
                (
                    "set TOKENIZERS_PARALLELISM=false before the fork, or do not set it",
                    "start the process with spawn: it begins without any of this",
                ),
                {
                    "accelerator": "tokenizers",
                    "status": "awake",
                    "reason": "so",
                    "TOKENIZERS_PARALLELISM": "1",
                },
            ],
            "native-threads": [
                "threads of libstrange.so would be missing in a forked child",
                ("start the process with spawn: it begins without any of this",),
                {"thread 100": "/x/libstrange.so"},
            ],
            "threads-unreadable": [
                "the threads of a process cannot be read on this system",
                ("start the process with spawn: it begins without any of this",),
                {},
            ],
            "python-threads": [
                "other Python threads are running (Thread-1), and their locks stay locked in a child",
                (
                    "fork before threads are started",
                    "start the process with spawn: it begins without any of this",
                ),
                {"thread": "Thread-1"},
            ],
            "module-being-imported": [
                "the thread Thread-1 is importing torch, whose lock is never released in a child",
                (
                    "import it before threads are started",
                    "start the process with spawn: it begins without any of this",
                ),
                {"thread": "Thread-1"},
            ],
            "no-fork-here": ["this platform has no fork", (), {"platform": "linux"}],
            "no-forkserver-here": ["this platform has no forkserver", (), {}],
            "macos": ["the system frameworks of macOS crash in forked children", (), {"platform": "darwin"}],
            "ray-worker": [
                "this is a worker of Ray, whose connections a forked child would share",
                (
                    "let Ray start the process: an actor of its own",
                    "start the process with spawn: it begins without any of this",
                ),
                {"ray.mode": "1"},
            ],
            "wsl": [
                "this is WSL, where NVML does not survive a fork",
                ("start the process with spawn: it begins without any of this",),
                {"release": "5.15-microsoft-standard-WSL2"},
            ],
            "jupyter": [
                "this is a notebook's kernel, and a forked child would inherit its sockets without its threads",
                ("put the function into a module, which spawn can import",),
                {},
            ],
            "xpu-build": [
                "PyTorch for XPU is loaded, and Level Zero does not support fork",
                ("start the process with spawn: it begins without any of this",),
                {"torch.version.xpu": "20250101"},
            ],
            "numa-binding": [
                "workers have to be bound to NUMA nodes, by a command that only spawn runs",
                (),
                {"asked by": "--numa-bind"},
            ],
            "method-asked-for": [
                "MULTIPROCESSING_START_METHOD asks for spawn, as in every isolated script",
                (),
                {"MULTIPROCESSING_START_METHOD": "spawn"},
            ],
            "daemon": [
                "this is a daemonic process, and multiprocessing allows it no children by any method",
                (
                    "start it with daemon=False, or from concurrent.futures, whose workers are not daemonic",
                    "use subprocess, which has no such rule",
                ),
                {},
            ],
            "framework-and-device": [
                "strict: torch is loaded and /dev/nvidia0 is visible, so anything may wake it",
                (
                    "start the process with spawn: it begins without any of this",
                    "hide the device: CUDA_VISIBLE_DEVICES=''",
                ),
                {"framework": "torch", "device": "/dev/nvidia0"},
            ],
            "target-wakes-device": [
                "importing work wakes cuda (work.py:3), certain",
                ("compute it on first use: coldfork check --entry work",),
                {"module": "work", "verdict": "certain", "path": "work.py", "line": "3"},
            ],
            "target-unknown": [
                "it is unknown what importing work does to a device: it took too long",
                (),
                {"module": "work", "reason": "it took too long"},
            ],
        }
    )
