"""The answers of the checks of environment variables and of limits, case by case."""

from __future__ import annotations

from tests.diagnose.doctor.machines import Case, Machine, as_it_is, fail, ok, skipped, warn

GIB = 1 << 30


def two_models(machine: Machine) -> Machine:
    return machine.devices({}, {"name": "NVIDIA L4"})


def cgroup_2(machine: Machine, **files: str) -> Machine:
    """A process in a group of version 2 two folders deep; the files of the upper one."""
    machine.file("/proc/self/cgroup", "0::/app/worker\n")
    for name, text in files.items():
        machine.file(f"/sys/fs/cgroup/app/{name.replace('_', '.')}", text)
    return machine


def cgroup_1(machine: Machine) -> Machine:
    machine.file("/proc/self/cgroup", "5:cpu,cpuacct:/box\n4:memory:/box\n3:pids:/box\n0::/\n")
    machine.file("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", str(2 * GIB))
    machine.file("/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "800000")
    machine.file("/sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000")
    return machine


_CUDA = "CUDA_VISIBLE_DEVICES"

SETTINGS: tuple[Case, ...] = (
    ok("alloc-conf", "no option of PyTorch's allocator is set", as_it_is),
    ok(
        "alloc-conf",
        "PYTORCH_CUDA_ALLOC_CONF: every option is known",
        lambda m: m.variables(
            PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True,roundup_power2_divisions:[256:1,512:2,>:4]"
        ),
    ),
    warn(
        "alloc-conf",
        "PYTORCH_ALLOC_CONF: PyTorch has no option max_split_size; did you mean max_split_size_mb?",
        lambda m: m.variables(PYTORCH_ALLOC_CONF="max_split_size:128"),
    ),
    warn(
        "alloc-conf",
        "PYTORCH_CUDA_ALLOC_CONF: expandable_segments has no value",
        lambda m: m.variables(PYTORCH_CUDA_ALLOC_CONF="expandable_segments"),
    ),
    ok("visible-devices", f"{_CUDA} is not set: programs see every device", as_it_is),
    ok(
        "visible-devices", f"{_CUDA}=1,0: 2 of the devices", lambda m: m.variables(CUDA_VISIBLE_DEVICES="1,0")
    ),
    ok(
        "visible-devices",
        f"{_CUDA}=0, 1: 2 of the devices",
        lambda m: m.variables(CUDA_VISIBLE_DEVICES="0, 1"),
    ),
    ok(
        "visible-devices",
        f"{_CUDA}=1gpu: 1 of the devices",
        lambda m: m.variables(CUDA_VISIBLE_DEVICES="1gpu"),
    ),
    ok(
        "visible-devices",
        f"{_CUDA}=GPU-1b2c: 1 of the devices",
        lambda m: m.answers().variables(CUDA_VISIBLE_DEVICES="GPU-1b2c"),
    ),
    warn("visible-devices", f"{_CUDA}='' hides every device", lambda m: m.variables(CUDA_VISIBLE_DEVICES="")),
    warn(
        "visible-devices",
        f"{_CUDA}='-1' hides every device",
        lambda m: m.variables(CUDA_VISIBLE_DEVICES="-1"),
    ),
    fail(
        "visible-devices",
        f"{_CUDA}=9,abc: 'abc' means nothing, so programs see only 9",
        lambda m: m.variables(CUDA_VISIBLE_DEVICES="9,abc"),
    ),
    fail(
        "visible-devices",
        f"{_CUDA}=0,9: there is no device 9, the last one is 0, so programs see only 0",
        lambda m: m.answers().variables(CUDA_VISIBLE_DEVICES="0,9"),
    ),
    fail(
        "visible-devices",
        f"{_CUDA}=1,1: 1 is listed twice, so programs see no device",
        lambda m: m.variables(CUDA_VISIBLE_DEVICES="1,1"),
    ),
    fail(
        "visible-devices",
        f"{_CUDA}=0,GPU-1b2c: GPU-1b2c stands among numbers, so programs see only 0",
        lambda m: m.variables(CUDA_VISIBLE_DEVICES="0,GPU-1b2c"),
    ),
    fail(
        "visible-devices",
        f"{_CUDA}=GPU-1b2c,0: 0 stands among UUIDs, so programs see only GPU-1b2c",
        lambda m: m.variables(CUDA_VISIBLE_DEVICES="GPU-1b2c,0"),
    ),
    fail(
        "visible-devices",
        f"{_CUDA}=GPU-ffff: GPU-ffff is not one of the devices, so programs see no device",
        lambda m: m.answers().variables(CUDA_VISIBLE_DEVICES="GPU-ffff"),
    ),
    fail(
        "visible-devices",
        f"{_CUDA}=0,,1: an entry is empty, so programs see only 0",
        lambda m: m.variables(CUDA_VISIBLE_DEVICES="0,,1"),
    ),
    skipped("hip-visible-devices", "neither HIP_VISIBLE_DEVICES nor ROCR_VISIBLE_DEVICES is set", as_it_is),
    ok("hip-visible-devices", "HIP_VISIBLE_DEVICES=1", lambda m: m.variables(HIP_VISIBLE_DEVICES="1")),
    warn(
        "hip-visible-devices",
        "HIP_VISIBLE_DEVICES=1, CUDA_VISIBLE_DEVICES=0: they differ, and which one applies depends on the program",
        lambda m: m.variables(HIP_VISIBLE_DEVICES="1", CUDA_VISIBLE_DEVICES="0"),
    ),
    warn(
        "hip-visible-devices",
        "HIP_VISIBLE_DEVICES=1, ROCR_VISIBLE_DEVICES=1: one selects among the devices that the other leaves",
        lambda m: m.variables(HIP_VISIBLE_DEVICES="1", ROCR_VISIBLE_DEVICES="1"),
    ),
    skipped("nvidia-visible-devices", "NVIDIA_VISIBLE_DEVICES is not set", as_it_is),
    ok(
        "nvidia-visible-devices",
        "NVIDIA_VISIBLE_DEVICES=all, which the container's runtime has read",
        lambda m: m.file("/.dockerenv").variables(NVIDIA_VISIBLE_DEVICES="all"),
    ),
    warn(
        "nvidia-visible-devices",
        "NVIDIA_VISIBLE_DEVICES=0 hides nothing outside a container",
        lambda m: m.variables(NVIDIA_VISIBLE_DEVICES="0"),
    ),
    warn(
        "nvidia-visible-devices",
        "NVIDIA_VISIBLE_DEVICES=3 admits 1 devices, but CUDA_VISIBLE_DEVICES counts beyond them",
        lambda m: m.file("/.dockerenv").variables(NVIDIA_VISIBLE_DEVICES="3", CUDA_VISIBLE_DEVICES="3"),
    ),
    skipped("device-order", "with fewer than two devices, the order does not matter", as_it_is),
    ok(
        "device-order",
        "all devices are of one model, so CUDA numbers them like nvidia-smi",
        lambda m: m.devices({}, {}),
    ),
    ok(
        "device-order",
        "CUDA_DEVICE_ORDER=PCI_BUS_ID: CUDA numbers devices like nvidia-smi",
        lambda m: two_models(m).variables(CUDA_DEVICE_ORDER="PCI_BUS_ID"),
    ),
    warn(
        "device-order",
        "2 models of devices: CUDA and nvidia-smi number them differently",
        two_models,
    ),
    warn(
        "device-order",
        "CUDA does not know CUDA_DEVICE_ORDER=BUS",
        lambda m: m.variables(CUDA_DEVICE_ORDER="BUS"),
    ),
    skipped("nvml-query", "no CUDA build of torch is installed", as_it_is),
    skipped("nvml-query", "no CUDA build of torch is installed", lambda m: m.torch("2.9.0+cpu", None)),
    ok(
        "nvml-query",
        "PYTORCH_NVML_BASED_CUDA_CHECK is not set: torch.cuda.is_available() wakes the driver; with 1 it would ask NVML",
        lambda m: m.torch(),
    ),
    ok(
        "nvml-query",
        "PYTORCH_NVML_BASED_CUDA_CHECK=1: torch.cuda.is_available() asks NVML",
        lambda m: m.driver().answers().variables(PYTORCH_NVML_BASED_CUDA_CHECK="1"),
    ),
    ok(
        "nvml-query",
        "PYTORCH_NVML_BASED_CUDA_CHECK=0: torch.cuda.is_available() wakes the driver",
        lambda m: m.variables(PYTORCH_NVML_BASED_CUDA_CHECK="0"),
    ),
    warn(
        "nvml-query",
        "PYTORCH_NVML_BASED_CUDA_CHECK=true: torch treats any value but 1 as no",
        lambda m: m.variables(PYTORCH_NVML_BASED_CUDA_CHECK="true"),
    ),
    warn(
        "nvml-query",
        "PYTORCH_NVML_BASED_CUDA_CHECK=1, but NVML does not answer, so torch asks the driver",
        lambda m: m.driver().answers(nvml_error="no").variables(PYTORCH_NVML_BASED_CUDA_CHECK="1"),
    ),
    skipped("vllm-method", "vLLM is not installed", as_it_is),
    ok(
        "vllm-method",
        (
            "VLLM_WORKER_MULTIPROC_METHOD is not set: the command vllm serve spawns, and LLM(...) forks while CUDA "
            "is cold"
        ),
        lambda m: m.package("vllm", "0.33.0"),
    ),
    ok(
        "vllm-method",
        "VLLM_WORKER_MULTIPROC_METHOD=spawn",
        lambda m: m.variables(VLLM_WORKER_MULTIPROC_METHOD="spawn"),
    ),
    warn(
        "vllm-method",
        "VLLM_WORKER_MULTIPROC_METHOD=fork: a worker cannot use a device that its parent woke",
        lambda m: m.variables(VLLM_WORKER_MULTIPROC_METHOD="fork"),
    ),
    warn(
        "vllm-method",
        "VLLM_WORKER_MULTIPROCESSING_METHOD is set, but vLLM reads VLLM_WORKER_MULTIPROC_METHOD",
        lambda m: m.variables(VLLM_WORKER_MULTIPROCESSING_METHOD="spawn"),
    ),
    fail(
        "vllm-method",
        "VLLM_WORKER_MULTIPROC_METHOD=forkserver: vLLM accepts only spawn and fork",
        lambda m: m.variables(VLLM_WORKER_MULTIPROC_METHOD="forkserver"),
    ),
    ok(
        "thread-counts",
        "no number of threads is set: each process may start 8 threads for each pool",
        as_it_is,
    ),
    ok("thread-counts", "OMP_NUM_THREADS=4,2", lambda m: m.variables(OMP_NUM_THREADS="4,2")),
    warn(
        "thread-counts",
        "OMP_NUM_THREADS=many is not a number of threads, and is ignored",
        lambda m: m.variables(OMP_NUM_THREADS="many"),
    ),
    warn(
        "thread-counts",
        "OMP_NUM_THREADS=9 on 8 processors: the threads wait for each other",
        lambda m: m.variables(OMP_NUM_THREADS="9"),
    ),
    warn(
        "thread-counts",
        "KMP_DUPLICATE_LIB_OK hides that a process has two OpenMP runtimes; results may be wrong",
        lambda m: m.variables(KMP_DUPLICATE_LIB_OK="TRUE"),
    ),
    warn(
        "thread-counts",
        "OMP_NUM_THREADS=2, MKL_NUM_THREADS=4: the pools get different numbers",
        lambda m: m.variables(OMP_NUM_THREADS="2", MKL_NUM_THREADS="4"),
    ),
    skipped("tokenizers-parallelism", "tokenizers is not installed", as_it_is),
    ok(
        "tokenizers-parallelism",
        "TOKENIZERS_PARALLELISM is not set: a forked child goes on with one thread, and warns",
        lambda m: m.package("tokenizers", "0.23.0"),
    ),
    ok(
        "tokenizers-parallelism",
        "TOKENIZERS_PARALLELISM=False: one thread, which survives a fork",
        lambda m: m.variables(TOKENIZERS_PARALLELISM="False"),
    ),
    ok(
        "tokenizers-parallelism",
        "TOKENIZERS_PARALLELISM=true, and processes are forked only if a program asks for it",
        lambda m: m.python(version=(3, 14, 2)).variables(TOKENIZERS_PARALLELISM="true"),
    ),
    warn(
        "tokenizers-parallelism",
        "TOKENIZERS_PARALLELISM=sure: a child forked after the first use may hang",
        lambda m: m.variables(TOKENIZERS_PARALLELISM="sure"),
    ),
    ok(
        "launch-blocking", "no variable for debugging is set", lambda m: m.variables(CUDA_LAUNCH_BLOCKING="0")
    ),
    warn(
        "launch-blocking",
        "CUDA_LAUNCH_BLOCKING=1: for debugging, and slow",
        lambda m: m.variables(CUDA_LAUNCH_BLOCKING="1"),
    ),
    ok("library-path", "neither LD_LIBRARY_PATH nor LD_PRELOAD is set", as_it_is),
    ok(
        "library-path",
        "LD_LIBRARY_PATH=/opt/stubs, LD_PRELOAD=libjemalloc.so",
        lambda m: m.variables(LD_LIBRARY_PATH="/opt/stubs", LD_PRELOAD="libjemalloc.so"),
    ),
    warn(
        "library-path",
        "LD_PRELOAD puts libcudart.so.12 into every process",
        lambda m: m.variables(LD_PRELOAD="libjemalloc.so:libcudart.so.12"),
    ),
    warn(
        "library-path",
        "/cuda/compat holds a driver of CUDA's compatibility package, for data-centre devices only",
        lambda m: m.file("/cuda/compat/libcuda.so.1").variables(LD_LIBRARY_PATH="/cuda/compat"),
    ),
    fail(
        "library-path",
        "/cuda/lib64/stubs/ holds the toolkit's stub instead of the driver",
        lambda m: m.file("/cuda/lib64/stubs/libcuda.so").variables(LD_LIBRARY_PATH="/opt:/cuda/lib64/stubs/"),
    ),
    skipped(
        "library-path",
        "they are read only on Linux, and this is darwin",
        lambda m: m.system(platform="darwin"),
    ),
)

LIMITS: tuple[Case, ...] = (
    ok(
        "dev-shm",
        "2.0 GiB of 2.0 GiB of shared memory are free",
        lambda m: m.disk("/dev/shm", 2 * GIB, 2 * GIB),
    ),
    warn(
        "dev-shm",
        "/dev/shm is small: 60 MiB of 64 MiB of shared memory are free",
        lambda m: m.disk("/dev/shm", 64 << 20, 60 << 20),
    ),
    fail(
        "dev-shm",
        "/dev/shm is full: 1.0 MiB of 32 GiB of shared memory are free",
        lambda m: m.disk("/dev/shm", 32 * GIB, 1 << 20),
    ),
    fail(
        "dev-shm",
        "/dev/shm is too small to use: 1.0 MiB of 1.0 MiB of shared memory are free",
        lambda m: m.disk("/dev/shm", 1 << 20, 1 << 20),
    ),
    fail("dev-shm", "there is no /dev/shm", as_it_is),
    skipped("dev-shm", "it is a folder of Linux, and this is darwin", lambda m: m.system(platform="darwin")),
    ok("nofile", "a process may open 4096 files", lambda m: m.limit("NOFILE", 4096)),
    ok("nofile", "a process may open any number of files", lambda m: m.limit("NOFILE", None)),
    warn(
        "nofile",
        "a process may open 1024 files, and may raise that to 8192",
        lambda m: m.limit("NOFILE", 1024, 8192),
    ),
    fail(
        "nofile",
        "a process may open 255 files, and may raise that to any number",
        lambda m: m.limit("NOFILE", 255),
    ),
    warn(
        "nofile",
        "a process may open 256 files, and may raise that to any number",
        lambda m: m.limit("NOFILE", 256),
    ),
    skipped("nofile", "this system has no such limit", as_it_is),
    ok("nproc", "this user may have 4096 processes and threads", lambda m: m.limit("NPROC", 4096)),
    warn(
        "nproc",
        "this user may have 1000 processes and threads in all programs together",
        lambda m: m.limit("NPROC", 1000),
    ),
    fail(
        "nproc",
        "this user may have 100 processes and threads in all programs together",
        lambda m: m.limit("NPROC", 100),
    ),
    skipped("nproc", "this system has no such limit", as_it_is),
    ok("memlock", "a process may lock any amount of memory", lambda m: m.limit("MEMLOCK", None)),
    ok(
        "memlock",
        "a process may lock 64 KiB, and no InfiniBand is there to need more",
        lambda m: m.limit("MEMLOCK", 64 << 10),
    ),
    warn(
        "memlock",
        "a process may lock 64 KiB, but InfiniBand needs more",
        lambda m: m.limit("MEMLOCK", 64 << 10).file("/dev/infiniband/uverbs0"),
    ),
    skipped("memlock", "this system has no such limit", as_it_is),
    ok(
        "core",
        "a crash leaves no core file; ulimit -c unlimited keeps one",
        lambda m: m.limit("CORE", 0).file("/proc/sys/kernel/core_pattern", "core\n"),
    ),
    ok(
        "core",
        "core files are collected by /usr/lib/systemd/systemd-coredump",
        lambda m: m.limit("CORE", None).file(
            "/proc/sys/kernel/core_pattern", "|/usr/lib/systemd/systemd-coredump %P"
        ),
    ),
    ok("core", "a crash leaves a core file of at most 1.0 GiB", lambda m: m.limit("CORE", GIB)),
    ok(
        "core",
        "core files are kept as /cores/%p",
        lambda m: m.limit("CORE", None).file("/proc/sys/kernel/core_pattern", "/cores/%p"),
    ),
    warn(
        "core",
        "a crash leaves a core file of any size in the folder of the program, named core",
        lambda m: m.limit("CORE", None),
    ),
    skipped(
        "core",
        "core files are examined only on Linux, and this is darwin",
        lambda m: m.system(platform="darwin"),
    ),
    ok("cgroup", "cgroup v2: no limits", lambda m: cgroup_2(m, memory_max="max\n", cpu_max="max 100000\n")),
    ok(
        "cgroup",
        "cgroup v2: memory 8.0 GiB, 5 processors, 2000 processes and threads",
        lambda m: cgroup_2(m, memory_max=str(8 * GIB), cpu_max="500000 100000", pids_max="2000"),
    ),
    ok(
        "cgroup",
        "cgroup v2: 4 processors",
        lambda m: cgroup_2(m, cpu_max="400000 100000").variables(OMP_NUM_THREADS="2"),
    ),
    warn(
        "cgroup",
        "the group allows 1.5 processors, but programs see 8",
        lambda m: cgroup_2(m, cpu_max="150000 100000"),
    ),
    warn("cgroup", "the group allows 2.0 GiB of memory", cgroup_1),
    ok(
        "cgroup",
        "cgroup v1: memory 16 GiB, 8 processors",
        lambda m: cgroup_1(m).file("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", str(16 * GIB)),
    ),
    warn(
        "cgroup",
        "the group allows 512 processes and threads",
        lambda m: cgroup_2(m, pids_max="512", pids_current="10"),
    ),
    fail(
        "cgroup",
        "1000 of the 1100 processes and threads that the group allows are in use",
        lambda m: cgroup_2(m, pids_max="1100", pids_current="1000"),
    ),
    skipped("cgroup", "no control group is visible", as_it_is),
    skipped(
        "cgroup",
        "control groups exist only on Linux, and this is darwin",
        lambda m: m.system(platform="darwin"),
    ),
)
