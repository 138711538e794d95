"""The answers of the checks of Python and of the driver, case by case."""

from __future__ import annotations

from collections.abc import Callable

from coldfork.launch.devices.management import Instance, Management, NoAnswerError, Touched
from tests.diagnose.doctor.machines import Case, Machine, as_it_is, fail, ok, skipped, warn

Make = Callable[[Machine], Machine]


def mac(machine: Machine) -> Machine:
    return machine.system(platform="darwin", machine="arm64")


def unknown(machine: Machine) -> Machine:
    return machine.python(version=None)


def nowhere(machine: Machine) -> Machine:
    return machine.python(folders=())


def started_by(name: str, text: str) -> Make:
    return lambda machine: machine.installed(name, text)


PYTHON: tuple[Case, ...] = (
    ok("python", "Python 3.11.7 on Linux x86_64, in ENV", as_it_is),
    ok("python", "Python 3.11 on Linux x86_64, in ENV", lambda m: m.python(version=(3, 11))),
    warn("python", "on macOS the guard, coldfork ps and coldfork exec do nothing", mac),
    warn(
        "python",
        "Python 3.14.0 is a free-threaded build",
        lambda m: m.python(version=(3, 14, 0), free_threaded=True),
    ),
    fail("python", "Python 3.10.1 is too old for coldfork", lambda m: m.python(version=(3, 10, 1))),
    skipped("python", "the folder of the examined Python does not tell its version", unknown),
    ok("start-method", "fork is the default of Python 3.11.7 here", as_it_is),
    ok(
        "start-method",
        "forkserver is the default of Python 3.14.0 here",
        lambda m: m.torch().python(version=(3, 14, 0)),
    ),
    ok(
        "start-method",
        "fork is the default of Python 3.11.7 here",
        lambda m: m.torch("2.9.0+cpu", None),
    ),
    ok("start-method", "spawn is the default of Python 3.11.7 here", lambda m: mac(m.torch())),
    warn(
        "start-method",
        (
            "fork is the default of Python 3.11.7 here: a forked child cannot use a device that jax woke in its "
            "parent"
        ),
        lambda m: m.package("jax", "0.10.2"),
    ),
    skipped("start-method", "the folder of the examined Python does not tell its version", unknown),
    ok("startup-files", "no file imports a framework when Python starts", as_it_is),
    ok(
        "startup-files",
        "no file imports a framework when Python starts",
        started_by("paths.pth", "torch\n# import torch\nimport os; os.environ.get('X')\n"),
    ),
    ok(
        "startup-files",
        "no file imports a framework when Python starts",
        started_by("code.pth", "import sys; exec(sys.argv)\nimport sys; print('import torch')\nimport x y\n"),
    ),
    warn(
        "startup-files",
        "mixed.pth imports jax whenever Python starts",
        started_by("mixed.pth", "import jax\nimport x y\nimport torch\n"),
    ),
    warn(
        "startup-files",
        "preload.pth imports torch whenever Python starts",
        started_by("preload.pth", "import os, torch\n"),
    ),
    warn(
        "startup-files",
        "hidden.pth imports vllm whenever Python starts",
        started_by("hidden.pth", "import sys; exec('try:\\n import vllm.envs\\nexcept OSError: pass')\n"),
    ),
    warn(
        "startup-files",
        "sitecustomize.py imports jax whenever Python starts",
        started_by("sitecustomize.py", "def f():\n    from jax import numpy\n"),
    ),
    fail(
        "startup-files",
        "usercustomize.py calls torch.cuda.is_available whenever Python starts",
        started_by("usercustomize.py", "import torch\nif torch.cuda.is_available():\n    pass\n"),
    ),
    skipped("startup-files", "no folder of packages was found", nowhere),
    ok("openmp", "no package brings its own runtime", started_by("x/libgompertz.so", "")),
    ok("openmp", "1 copy of LLVM's runtime", started_by("torch/lib/libomp.dylib", "")),
    ok(
        "openmp",
        "2 copies of GNU's runtime",
        lambda m: m.installed("a.libs/libgomp-e985bcbb.so.1.0.0").installed("torch/lib/libgomp.so.1"),
    ),
    warn(
        "openmp",
        "GNU and Intel runtimes lie side by side: a process may load both",
        lambda m: m.installed("a.libs/libgomp-e985bcbb.so.1.0.0").installed("b/libiomp5.so"),
    ),
    warn(
        "openmp",
        "2 copies of Intel's runtime: a process that loads two may be killed",
        lambda m: m.installed("a/libiomp5.so").installed("b/lib/libiomp5.so"),
    ),
    skipped("openmp", "no folder of packages was found", nowhere),
)


def refused(code: int, error: str) -> Make:
    return lambda m: m.driver().answers(nvml_error=error, nvml_code=code, devices=())


def touched(code: int, step: str, *devices: str) -> Make:
    return lambda m: m.having(touch=lambda: Touched(code, step, devices, 1.25))


def hangs(machine: Machine) -> Machine:
    def touch() -> Touched:
        raise NoAnswerError("the driver did not answer within 60 seconds")

    return machine.having(touch=touch)


def silent(machine: Machine) -> Machine:
    return machine.answers(Management(unanswered="the driver did not answer within 10 seconds"))


def without_libraries(machine: Machine) -> Machine:
    return machine.driver().answers(Management(nvml_error="no nvml", libcuda_error="no libcuda"))


def wsl(machine: Machine) -> Machine:
    return machine.system(release="6.6.36-microsoft-standard-WSL2").file("/dev/dxg")


DRIVER: tuple[Case, ...] = (
    ok(
        "driver",
        "NVIDIA driver 570.86.15, for programs up to CUDA 12.8, 1 x NVIDIA H100",
        lambda m: m.driver().answers(),
    ),
    ok(
        "driver",
        "NVIDIA driver 580.1, for programs up to CUDA 13.0",
        lambda m: m.driver("580.1").answers(driver=None, cuda=13000, devices=()),
    ),
    ok(
        "driver",
        "NVIDIA driver 570.86.15, for programs up to CUDA 12.8, 1 x NVIDIA H100",
        lambda m: m.file("/dev/dxg").answers(),
    ),
    fail("driver", "the driver did not answer within 10 seconds", silent),
    fail(
        "driver",
        "the kernel has NVIDIA's driver 570.86.15, but libcuda.so.1 cannot be loaded: no libcuda",
        without_libraries,
    ),
    fail(
        "driver",
        "libcuda.so.1 is installed, but the kernel has not loaded NVIDIA's driver",
        lambda m: m.answers(),
    ),
    fail(
        "driver",
        "libcuda.so.1 does not say which CUDA it serves: cuDriverGetVersion returned 34",
        lambda m: m.driver().answers(cuda=None, libcuda_error="cuDriverGetVersion returned 34"),
    ),
    skipped("driver", "there is no NVIDIA driver here", as_it_is),
    skipped("driver", "there is no NVIDIA driver here; AMD's is", lambda m: m.file("/dev/kfd")),
    ok("nvml", "NVML answers for 1 device", lambda m: m.driver().answers()),
    warn(
        "nvml",
        "libnvidia-ml.so.1 cannot be loaded, so counting devices wakes them: no nvml",
        without_libraries,
    ),
    fail(
        "nvml",
        "NVML refuses: Driver/library version mismatch",
        refused(18, "Driver/library version mismatch"),
    ),
    fail("nvml", "NVML refuses: Insufficient Permissions", refused(4, "Insufficient Permissions")),
    fail("nvml", "NVML gave no answer: the driver did not answer within 10 seconds", silent),
    skipped("nvml", "there is no NVIDIA driver here", as_it_is),
    ok("device-files", "3 device files may be read and written", lambda m: m.driver()),
    ok("device-files", "1 device file may be read and written", wsl),
    ok(
        "device-files",
        "2 device files may be read and written",
        lambda m: m.file("/dev/kfd").file("/dev/dri/renderD128").file("/dev/dri/card0"),
    ),
    warn(
        "device-files",
        "/dev/nvidia1 is closed to this user",
        lambda m: m.driver().file("/dev/nvidia1").closed("/dev/nvidia1"),
    ),
    fail("device-files", "/dev/nvidia0 is closed to this user", lambda m: m.driver().closed("/dev/nvidia0")),
    fail(
        "device-files",
        "/dev/kfd is closed to this user",
        lambda m: m.file("/dev/kfd").file("/dev/dri/renderD128").closed("/dev/kfd"),
    ),
    fail(
        "device-files",
        "/dev/nvidia-uvm is missing; no device has a device file",
        lambda m: m.file("/proc/driver/nvidia/version").file("/dev/nvidiactl"),
    ),
    skipped("device-files", "there is no accelerator device file here", as_it_is),
    ok("container", "this is not a container", as_it_is),
    ok(
        "container",
        "a container of Docker, on a host without an NVIDIA driver",
        lambda m: m.file("/.dockerenv"),
    ),
    ok(
        "container",
        "a container of Kubernetes, with the devices of its host",
        lambda m: m.driver().answers().variables(KUBERNETES_SERVICE_HOST="10.0.0.1"),
    ),
    warn(
        "container",
        "Podman, and NVIDIA_VISIBLE_DEVICES=void asks for no device",
        lambda m: m.file("/run/.containerenv").variables(NVIDIA_VISIBLE_DEVICES="void"),
    ),
    fail(
        "container",
        "Docker: the host has an NVIDIA driver, but the container has none of its devices",
        lambda m: m.file("/proc/1/cgroup", "0::/docker/abc\n").file("/proc/driver/nvidia/version"),
    ),
    fail(
        "container",
        "Docker: NVIDIA_DRIVER_CAPABILITIES=utility leaves CUDA out",
        lambda m: without_libraries(m).file("/.dockerenv").variables(NVIDIA_DRIVER_CAPABILITIES="utility"),
    ),
    skipped("container", "containers are detected only on Linux, and this is darwin", mac),
    ok("wsl", "WSL 2, with the driver of Windows", lambda m: wsl(m).file("/usr/lib/wsl/lib/libcuda.so.1")),
    warn(
        "wsl",
        "WSL, but /usr/lib64/libcuda.so.1 of a Linux driver may be found before Windows' own",
        lambda m: wsl(m).file("/usr/lib/wsl/lib/libcuda.so.1").file("/usr/lib64/libcuda.so.1"),
    ),
    fail("wsl", "WSL without libcuda.so.1", wsl),
    fail("wsl", "WSL without /dev/dxg", lambda m: m.system(release="4.4.0-19041-Microsoft")),
    skipped("wsl", "this is not WSL", as_it_is),
    ok("compute-mode", "compute mode DEFAULT: a device admits several processes", lambda m: m.answers()),
    warn(
        "compute-mode",
        "device 1 is EXCLUSIVE_PROCESS: it admits one process at a time, or none",
        lambda m: m.devices({}, {"compute_mode": 3}),
    ),
    fail("compute-mode", "every device is PROHIBITED to programs", lambda m: m.devices({"compute_mode": 2})),
    warn(
        "compute-mode",
        "device 0 is PROHIBITED: it admits one process at a time, or none",
        lambda m: m.devices({"compute_mode": 2}, {}),
    ),
    skipped("compute-mode", "NVML lists no device here", as_it_is),
    ok("mig", "no device is divided", lambda m: m.answers()),
    ok(
        "mig",
        "3 instances on 1 divided devices",
        lambda m: m.devices(
            {"mig": True, "mig_pending": True, "instances": (Instance("MIG-aa"),) * 3}
        ).variables(CUDA_VISIBLE_DEVICES="MIG-1"),
    ),
    warn(
        "mig",
        "3 instances, and CUDA_VISIBLE_DEVICES is not set: each process sees one alone",
        lambda m: m.devices({"mig": True, "mig_pending": True, "instances": (Instance("MIG-aa"),) * 3}),
    ),
    warn(
        "mig",
        "device 0: MIG is to be switched on at the next reset",
        lambda m: m.devices({"mig_pending": True}),
    ),
    warn(
        "mig",
        "device 0: MIG is to be switched off at the next reset",
        lambda m: m.devices({"mig": True, "instances": (Instance("MIG-aa"),) * 1}),
    ),
    fail(
        "mig",
        "device 0 is divided but has no instance, so CUDA finds no device",
        lambda m: m.devices({"mig": True, "mig_pending": True, "instances": (Instance("MIG-aa"),) * 0}),
    ),
    skipped("mig", "NVML lists no device that could be divided", lambda m: m.devices({"mig": None})),
    ok("mps", "there is no MPS daemon, and nothing expects one", lambda m: m.driver().answers()),
    ok(
        "mps",
        "an MPS daemon listens in /run/mps",
        lambda m: m.driver().file("/run/mps/control").variables(CUDA_MPS_PIPE_DIRECTORY="/run/mps"),
    ),
    warn(
        "mps",
        "CUDA_MPS_PIPE_DIRECTORY expects an MPS daemon, but none listens in /run/mps",
        lambda m: m.driver().variables(CUDA_MPS_PIPE_DIRECTORY="/run/mps"),
    ),
    warn(
        "mps",
        "an MPS daemon runs, but its pipe is not in /run/mps: processes started here do not use it",
        lambda m: (
            m.driver()
            .file("/proc/4711/comm", "nvidia-cuda-mps")
            .variables(CUDA_MPS_PIPE_DIRECTORY="/run/mps")
        ),
    ),
    fail(
        "mps",
        "the pipe of the MPS daemon, /run/mps/control, is closed to this user",
        lambda m: (
            m.driver()
            .file("/run/mps/control")
            .closed("/run/mps/control")
            .variables(CUDA_MPS_PIPE_DIRECTORY="/run/mps")
        ),
    ),
    skipped("mps", "there is no NVIDIA driver here", as_it_is),
    ok("persistence", "the driver stays loaded", lambda m: m.answers()),
    ok(
        "persistence",
        "the driver stays loaded",
        lambda m: m.devices({"persistence": False}).file("/run/nvidia-persistenced/socket"),
    ),
    warn(
        "persistence",
        "persistence is off on devices 0, 2: the first process has to wait for the driver to load",
        lambda m: m.devices({"persistence": False}, {}, {"persistence": False}),
    ),
    skipped("persistence", "NVML does not report persistence", as_it_is),
    ok("touch", "2 devices made a context, in 1.2 s", touched(0, "", "NVIDIA H100", "NVIDIA H100")),
    warn("touch", "CUDA is initialised but sees no device", touched(0, "")),
    fail("touch", "cuInit returned 803: it does not fit the kernel module", touched(803, "cuInit")),
    fail(
        "touch",
        "cuDevicePrimaryCtxRetain(1) returned 2: the device has no memory left",
        touched(2, "cuDevicePrimaryCtxRetain(1)", "NVIDIA H100"),
    ),
    fail("touch", "cuInit returned 12345", touched(12345, "cuInit")),
    fail("touch", "the driver did not answer within 60 seconds", hangs),
    skipped("touch", "no device is woken unless coldfork doctor --touch asks for it", as_it_is),
    skipped("touch", "libcuda cannot be loaded: no such file", touched(-1, "no such file")),
)
