"""Troubles with devices, drivers and builds."""

from __future__ import annotations

from coldfork.knowledge.troubles.entry import Trouble

_ONNX = ("RuntimeException", "Fail", "EPFail")
"""Errors of ONNX Runtime, whose messages say `CUDA failure 900: operation not permitted ...`."""
_CUDA_ERRORS = (
    "RuntimeError",
    "AcceleratorError",
    "CUDARuntimeError",
    "CudaAPIError",
    "CUDADriverError",
    *_ONNX,
)
_XLA = ("XlaRuntimeError", "JaxRuntimeError")

DEVICES = (
    Trouble(
        "invalid-device",
        "`CUDA error: invalid device ordinal`, or no device at all",
        r"invalid device ordinal|No (?:CUDA|HIP) GPUs are available|No XPU devices are available"
        r"|no CUDA-capable device is detected|CUDA_ERROR_NO_DEVICE|No visible GPU devices"
        r"|Found no NVIDIA driver on your system",
        "The program asks for a device by its number on the machine, but it sees only those in "
        "CUDA_VISIBLE_DEVICES, counted from 0. CUDA reads that variable once, when the process first "
        "touches CUDA.",
        (
            (
                "Start as many processes as there are devices (`torchrun --nproc-per-node`), and let each "
                "take its local rank, counted from 0 within CUDA_VISIBLE_DEVICES."
            ),
            (
                "Set CUDA_VISIBLE_DEVICES before the process is started: once CUDA is awake, it is not read "
                "again."
            ),
            (
                "If `nvidia-smi` shows none either, give the container its devices (`docker run --gpus "
                "all`); without a GPU, `coldfork run --virtual h100 PROGRAM` simulates one."
            ),
        ),
        "coldfork exec --devices 0 -- SCRIPT",
        kinds=(*_CUDA_ERRORS, "DeferredCudaCallError", "AssertionError", "CudaSupportError", *_XLA),
        needles=(
            "invalid device ordinal",
            "GPUs are available",
            "No XPU devices are available",
            "no CUDA-capable device is detected",
            "CUDA_ERROR_NO_DEVICE",
            "No visible GPU devices",
            "Found no NVIDIA driver",
        ),
        alternatives=("a machine or a container without a device, or without its driver",),
    ),
    Trouble(
        "duplicate-device",
        "NCCL's `Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 1000`",
        r"Duplicate GPU detected ?: rank \d+ and rank \d+ both on CUDA device",
        "Two ranks use the same device, but NCCL allows only one rank on each: a rank did not choose its "
        "device before the first collective, or there are more ranks than devices.",
        (
            (
                'Call `torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))` in every rank before '
                "`init_process_group`."
            ),
            "Start no more processes on a machine than it has devices: `torchrun --nproc-per-node`.",
        ),
        "coldfork doctor visible-devices driver",
        kinds=("RuntimeError", "DistBackendError"),
        needles=("Duplicate GPU detected",),
    ),
    Trouble(
        "out-of-memory",
        "`CUDA out of memory` in the script, on a device that the server uses too",
        r"(?:CUDA|HIP|XPU) out of memory|CUDA_ERROR_OUT_OF_MEMORY"
        r"|is less than desired GPU memory utilization",
        "Isolation frees no memory: other processes keep their allocations, and frameworks keep what "
        "they have freed. Every process that touches a device also holds a context on it.",
        (
            (
                "Give the script another device, lower its share (vLLM: `gpu_memory_utilization`), or free "
                "the server's cache first."
            ),
            (
                "Let no process make a context that it does not need: keep a parent that only starts "
                "workers cold."
            ),
        ),
        "coldfork exec --devices 1 -- SCRIPT",
        kinds=("OutOfMemoryError", "RuntimeError", "ValueError"),
        needles=("out of memory", "CUDA_ERROR_OUT_OF_MEMORY", "less than desired GPU memory"),
        alternatives=("a model that is too large for the device, with nothing beside it",),
    ),
    Trouble(
        "device-busy",
        "`CUDA error: all CUDA-capable devices are busy or unavailable`",
        r"CUDA-capable device\(s\) is/are busy or unavailable|CUDA-capable devices are busy or unavailable"
        r"|cudaErrorDevicesUnavailable|CUDA_ERROR_DEVICE_UNAVAILABLE",
        "The device admits one process at a time (compute mode EXCLUSIVE_PROCESS), and another process "
        "holds a context on it: often the parent, which does not need it.",
        (
            "Keep the process that only starts workers cold, so that the worker gets the device.",
            "`nvidia-smi --query-gpu=compute_mode --format=csv` shows the mode; DEFAULT admits several.",
        ),
        "coldfork run --follow PROGRAM",
        kinds=_CUDA_ERRORS,
        needles=("busy or unavailable", "DevicesUnavailable", "DEVICE_UNAVAILABLE"),
        alternatives=("a device that fell off the bus, or whose driver is being reset",),
    ),
    Trouble(
        "driver-too-old",
        "`The NVIDIA driver on your system is too old`, or `CUDA driver version is insufficient for CUDA "
        "runtime version`",
        r"The NVIDIA driver on your system is too old|CUDA driver version is insufficient for CUDA runtime "
        r"version"
        r"|cudaErrorInsufficientDriver|CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
        r"|provided PTX was compiled with an unsupported toolchain",
        "The framework was built for a newer CUDA than the driver supports.",
        (
            (
                "Update the driver, or install a build of the framework for the driver's CUDA version, "
                "which `nvidia-smi` shows."
            ),
        ),
        "coldfork doctor driver torch",
        versions=("torch",),
        kinds=(*_CUDA_ERRORS, "UserWarning", "ImportError", "CudaSupportError", "AssertionError"),
        needles=(
            "driver on your system is too old",
            "driver version is insufficient",
            "InsufficientDriver",
            "UNSUPPORTED_PTX_VERSION",
            "unsupported toolchain",
        ),
        alternatives=("a container whose CUDA compatibility libraries do not fit the machine's driver",),
    ),
    Trouble(
        "binary-mismatch",
        "`ImportError: flash_attn_2_cuda.so: undefined symbol: _ZN3c105ErrorC2E`, or `operator "
        "torchvision::nms does not exist`",
        r"\.so[.\d]*: undefined symbol: \S*(?:c10|torch|at\d|caffe2|aoti|THP|cuda|cublas|nccl|nv)"
        r"|operator torchvision::nms does not exist",
        "A compiled extension was built against another version of PyTorch or CUDA than the one installed.",
        (
            (
                "Install the extension for the installed torch: use a wheel made for it, or build it "
                "anew (`pip install --no-build-isolation --no-binary :all: --force-reinstall PACKAGE`)."
            ),
            "Install torch, torchvision and torchaudio together, from one index.",
        ),
        "coldfork doctor torch torchvision torchaudio flash-attn xformers",
        kinds=("ImportError", "OSError", "RuntimeError"),
        versions=("torch", "torchvision", "torchaudio", "flash-attn", "xformers"),
        needles=("undefined symbol", "torchvision::nms does not exist"),
    ),
    Trouble(
        "capture-invalidated",
        "`CUDA error: operation not permitted when stream is capturing`",
        r"operation not permitted when stream is capturing|cudaErrorStreamCapture\w+"
        r"|operation would make the legacy stream depend on a capturing|operation failed due to a previous "
        r"error "
        r"during capture|capturing stream has unjoined work|CUDA_ERROR_STREAM_CAPTURE_\w+"
        r"|[Cc]aptures? must not be empty|CUDA failure 90[0-7]:",
        "Code that ran during the capture of a CUDA graph did something that cannot be recorded: it "
        "waited for the device, allocated memory through the driver, or initialised something (cuBLAS, "
        "an attention backend) for the first time.",
        (
            (
                "Run the same code once before the capture, on the same stream, so that everything lazy is "
                "done; `coldfork.graphs.GraphManager` keeps what warm-up leaves behind out of the capture."
            ),
            (
                "Remove everything that waits for the device from the captured code: `.item()`, "
                "`.cpu()`, printing a tensor."
            ),
        ),
        # The last four are coldfork's own errors about virtual captures and the graphs made from them.
        kinds=(
            *_CUDA_ERRORS,
            *_XLA,
            "UserWarning",
            "DeviceRefusal",
            "NoArrayRefusal",
            "CaptureRefusedError",
            "CaptureFailedError",
        ),
        needles=(
            "must not be empty",
            "CUDA failure 90",
            "stream is capturing",
            "StreamCapture",
            "depend on a capturing",
            "previous error during capture",
            "has unjoined work",
            "STREAM_CAPTURE",
        ),
    ),
    Trouble(
        "shared-memory",
        "`DataLoader worker (pid 7) is killed by signal: Bus error`, or NCCL's `Error while creating shared "
        "memory segment /dev/shm/nccl-x`",
        r"is killed by signal: Bus error|insufficient shared memory \(shm\)"
        r"|Error while creating shared memory segment /dev/shm/nccl|failed to extend /dev/shm/nccl"
        r"|unable to (?:open shared memory object|write to file) </torch_",
        "The processes share tensors through /dev/shm, which is full: containers have 64 MB of it by "
        "default.",
        (
            (
                "Give the container more: `docker run --shm-size=8g` or `--ipc=host`; in Kubernetes an "
                "emptyDir with `medium: Memory` at /dev/shm."
            ),
            "Start fewer workers, or set `torch.multiprocessing.set_sharing_strategy('file_system')`.",
        ),
        "coldfork doctor dev-shm",
        kinds=("RuntimeError", "DistBackendError"),
        needles=(
            "Bus error",
            "insufficient shared memory",
            "creating shared memory segment",
            "failed to extend /dev/shm",
            "</torch_",
        ),
    ),
    Trouble(
        "woken-too-early",
        "`Physical devices cannot be modified after being initialized`, JAX's `config should be updated "
        "before backends are initialized`, Lightning's `can't create new processes if CUDA is already "
        "initialized`, or PyTorch's `CUDA unknown error - this may be due to an incorrectly set up "
        "environment`",
        r"(?:Physical|Virtual|Visible) devices cannot be modified after being initialized"
        r"|config should be updated before backends are initialized"
        r"|jax\.distributed\.initialize\(\) must be called before any JAX"
        r"|can't create new processes if CUDA is already initialized"
        r"|\w has been initialized before the `notebook_launcher` could create a forked subprocess"
        r"|Libraries known to initialize CUDA upon import have been imported already"
        r"|you need to avoid running any instruction using `torch\.cuda`"
        r"|CUDA unknown error - this may be due to an incorrectly set up environment",
        "A driver reads its environment once, when it is initialised, and keeps what it found for the "
        "life of the process, a failure included. Something, usually an import, initialised it before "
        "the program had set the visible devices, the memory limit or the processes.",
        (
            (
                "Find the line that wakes the device first, and make it lazy: `coldfork check` names the "
                "line in the sources, `coldfork run` in the running program."
            ),
            (
                "Configure the device before the first import that could touch it, best in the "
                "environment of the new process: `coldfork exec --devices 0 -- SCRIPT`."
            ),
            (
                "After `CUDA unknown error`, start a new process: PyTorch asks for the devices only "
                "once. If that fails too, the driver is at fault: run `nvidia-smi` and `lsmod | grep "
                "nvidia_uvm`."
            ),
        ),
        "coldfork run --follow PROGRAM",
        kinds=("RuntimeError", "UserWarning", "MisconfigurationException", "ValueError"),
        needles=(
            "avoid running any instruction",
            "devices cannot be modified after",
            "config should be updated before backends",
            "jax.distributed.initialize() must be called",
            "processes if CUDA is already initialized",
            "has been initialized before",
            "Libraries known to initialize CUDA",
            "CUDA unknown error",
        ),
    ),
    Trouble(
        "lazy-state-in-capture",
        "`CUBLAS_STATUS_NOT_INITIALIZED` in a capture, `Offset increment outside graph capture encountered "
        "unexpectedly`, `an illegal memory access was encountered` in a replay, or replays that return "
        "garbage",
        r"CUBLAS_STATUS_NOT_INITIALIZED|Offset increment outside graph capture encountered unexpectedly"
        r"|Attempt to increase offset for a CUDA generator not in capture mode"
        r"|Cannot construct a new CUDAGeneratorImpl during CUDA graph capture"
        r"|an illegal memory access was encountered"
        r"|a replay would not do what an eager run does",
        "Something that is initialised on first use was initialised at the wrong time. A capture records "
        "work without executing it. State first used in the capture fails or stays half-made; state made "
        "by the warm-up is missing from the graph, and a replay reads whatever is in its memory.",
        (
            (
                "Make the state anew for the capture, so that the work which fills it is recorded: "
                "`coldfork.graphs.GraphManager` calls one function for both phases."
            ),
            (
                "Use everything that belongs to no batch (cuBLAS, a random generator, compiled kernels) "
                "once before the capture, on its stream: a matrix product is enough for cuBLAS."
            ),
            (
                "Keep everything that a graph reads alive for as long as it is replayed, and register "
                "your own generators with it: `CUDAGraph.register_generator_state`."
            ),
        ),
        kinds=(*_CUDA_ERRORS, "LeakError", "LeakWarning"),
        needles=(
            "CUBLAS_STATUS_NOT_INITIALIZED",
            "Offset increment outside",
            "Attempt to increase offset",
            "new CUDAGeneratorImpl",
            "illegal memory access",
            "a replay would not do",
            "reads memory that",
        ),
    ),
)
