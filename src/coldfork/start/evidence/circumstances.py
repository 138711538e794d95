"""Evidence from the circumstances of this process: its framework, its machine, its next imports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coldfork.model.decisions import EVERY, Reason, Weight
from coldfork.start.evidence.runtimes import SPAWN

if TYPE_CHECKING:
    from coldfork.start.surroundings import Surroundings

_RAY_WORKER = 1
"""`ray.WORKER_MODE`: a process that Ray started for tasks or an actor."""

_FRAMEWORKS = ("torch", "jax", "tensorflow", "cupy", "numba.cuda", "cuda.bindings.driver", "pyopencl")
_HIDDEN = ("", "-1", "NoDevFiles")
_METHOD = "MULTIPROCESSING_START_METHOD"
_VISIBILITY = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")


def platform_without_fork(surroundings: Surroundings) -> Reason | None:
    """Return the reason against fork on Windows, which has none."""
    if "fork" in surroundings.methods:
        return None
    return Reason(
        "no-fork-here", "this platform has no fork", evidence=(("platform", surroundings.platform),)
    )


def macos(surroundings: Surroundings) -> Reason | None:
    """Return the reason that macOS frameworks end a forked child that uses them."""
    if surroundings.platform != "darwin":
        return None
    return Reason(
        "macos",
        "the system frameworks of macOS crash in forked children",
        weight=Weight.DOUBT,
        evidence=(("platform", surroundings.platform),),
    )


def ray_worker(surroundings: Surroundings) -> Reason | None:
    """Return the reason that this is a task or actor of Ray, whose connections a child would share."""
    worker = (surroundings.module("ray._private.worker") or {}).get("global_worker")
    if worker is None:
        return None
    mode = _attribute(worker, "mode")
    if mode != _RAY_WORKER:
        return None
    return Reason(
        "ray-worker",
        "this is a worker of Ray, whose connections a forked child would share",
        weight=Weight.CIRCUMSTANCE,
        remedies=("let Ray start the process: an actor of its own", SPAWN),
        evidence=(("ray.mode", str(mode)),),
    )


def wsl(surroundings: Surroundings) -> Reason | None:
    """Return a reason if this is Windows' subsystem for Linux, where NVML and fork do not work together."""
    if "microsoft" not in surroundings.release.lower():
        return None
    return Reason(
        "wsl",
        "this is WSL, where NVML does not survive a fork",
        weight=Weight.CIRCUMSTANCE,
        remedies=(SPAWN,),
        evidence=(("release", surroundings.release),),
    )


def jupyter(surroundings: Surroundings) -> Reason | None:
    """Return a reason if this is a notebook's kernel, which has threads and sockets."""
    application = (surroundings.module("ipykernel.kernelapp") or {}).get("IPKernelApp")
    if application is None or _attribute(application, "_instance") is None:
        return None
    return Reason(
        "jupyter",
        "this is a notebook's kernel, and a forked child would inherit its sockets without its threads",
        weight=Weight.CIRCUMSTANCE,
        remedies=("put the function into a module, which spawn can import",),
    )


def xpu_build(surroundings: Surroundings) -> Reason | None:
    """Return a reason if PyTorch is built for Intel's GPUs, whose runtime does not support fork at all."""
    version = surroundings.module("torch.version") or {}
    if not isinstance(version.get("xpu"), str):
        return None
    return Reason(
        "xpu-build",
        "PyTorch for XPU is loaded, and Level Zero does not support fork",
        weight=Weight.CIRCUMSTANCE,
        accelerator="xpu",
        remedies=(SPAWN,),
        evidence=(("torch.version.xpu", str(version["xpu"])),),
    )


def numa_binding(surroundings: Surroundings) -> tuple[Reason, ...]:
    """Return a reason if workers are to be bound to NUMA nodes, because only spawn can change their
    command.
    """
    asked = [one for one in surroundings.arguments if one == "--numa-bind" or one.startswith("--numa-bind=")]
    executable = (surroundings.module("multiprocessing.spawn") or {}).get("_python_exe")
    own = (surroundings.module("sys") or {}).get("executable")
    if isinstance(executable, bytes):
        executable = executable.decode("utf-8", "surrogateescape")
    replaced = executable is not None and own is not None and executable != own
    if not asked and not replaced:
        return ()
    what = asked[0] if asked else f"multiprocessing starts {executable}"
    text = "workers have to be bound to NUMA nodes, by a command that only spawn runs"
    return tuple(
        Reason("numa-binding", text, method, Weight.CIRCUMSTANCE, evidence=(("asked by", what),))
        for method in ("fork", "forkserver")
    )


def method_asked_for(surroundings: Surroundings) -> tuple[Reason, ...]:
    """Return a reason if a variable sets the start method for an isolated script's processes."""
    asked = surroundings.setting(_METHOD)
    if asked not in ("spawn", "forkserver"):
        return ()
    text = f"{_METHOD} asks for {asked}, as in every isolated script"
    return tuple(
        Reason("method-asked-for", text, method, Weight.CIRCUMSTANCE, evidence=((_METHOD, asked),))
        for method in ("fork", "forkserver")
        if method != asked
    )


def daemon(surroundings: Surroundings) -> Reason | None:
    """Return a reason if this is a daemonic process of multiprocessing, which must not have children."""
    current = (surroundings.module("multiprocessing.process") or {}).get("_current_process")
    configuration = _attribute(current, "_config")
    if not isinstance(configuration, dict) or not configuration.get("daemon"):
        return None
    return Reason(
        "daemon",
        "this is a daemonic process, and multiprocessing allows it no children by any method",
        EVERY,
        Weight.HARM,
        remedies=(
            "start it with daemon=False, or from concurrent.futures, whose workers are not daemonic",
            "use subprocess, which has no such rule",
        ),
    )


def framework_and_device(surroundings: Surroundings) -> Reason | None:
    """In strict mode, return a reason if there is a framework that could wake a device, and a device."""
    if not surroundings.strict:
        return None
    framework = next((name for name in _FRAMEWORKS if surroundings.module(name) is not None), None)
    if framework is None or any(surroundings.setting(name) in _HIDDEN for name in _VISIBILITY):
        return None
    device = surroundings.device()
    if device is None:
        return None
    return Reason(
        "framework-and-device",
        f"strict: {framework} is loaded and {device} is visible, so anything may wake it",
        weight=Weight.DOUBT,
        remedies=(SPAWN, "hide the device: CUDA_VISIBLE_DEVICES=''"),
        evidence=(("framework", framework), ("device", device)),
    )


def vllm_takes_no_forkserver(surroundings: Surroundings) -> Reason | None:
    """Return the reason against forkserver that vLLM accepts only fork and spawn."""
    target = surroundings.target.module if surroundings.target is not None else None
    about = target is not None and target.partition(".")[0] == "vllm"
    if not about and surroundings.module("vllm") is None:
        return None
    return Reason("vllm-refuses-forkserver", "vLLM accepts only fork and spawn", "forkserver", Weight.HARM)


def _attribute(thing: Any, name: str) -> Any:
    """Return an attribute of another library's object; None if it is missing or raises an error."""
    try:
        return getattr(thing, name, None)
    except Exception:
        return None
