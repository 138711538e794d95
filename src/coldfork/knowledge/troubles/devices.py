"""What goes wrong with devices, drivers and builds, and is told from the same logs."""

from __future__ import annotations

from coldfork.knowledge.troubles.entry import Trouble

_CUDA_ERRORS = ("RuntimeError", "AcceleratorError", "CUDARuntimeError", "CudaAPIError", "CUDADriverError")

DEVICES = (
    Trouble(
        "invalid-device",
        "`CUDA error: invalid device ordinal`, or no device at all",
        r"invalid device ordinal|No CUDA GPUs are available|no CUDA-capable device is detected",
        "The program asks for a device by its number on the machine; it sees only those in its "
        "CUDA_VISIBLE_DEVICES, counted from 0, as that variable was when the process first touched CUDA.",
        (
            (
                "Number devices from 0 in the script, and choose them with `devices=`, which counts within "
                "the devices that the caller sees."
            ),
            (
                "Set CUDA_VISIBLE_DEVICES before the process is started: once CUDA is awake, it is not read "
                "again."
            ),
        ),
        "coldfork exec --devices 0 -- SCRIPT",
        kinds=(*_CUDA_ERRORS, "DeferredCudaCallError", "AssertionError", "CudaSupportError"),
        needles=(
            "invalid device ordinal",
            "No CUDA GPUs are available",
            "no CUDA-capable device is detected",
        ),
        alternatives=("a machine or a container without a device, or without its driver",),
    ),
    Trouble(
        "out-of-memory",
        "`CUDA out of memory` in the script, on a device that the server uses too",
        r"CUDA out of memory|CUDA_ERROR_OUT_OF_MEMORY",
        "Isolation is not memory: another process's allocations stay where they are, and frameworks keep "
        "what they have freed. Every process that touches a device holds a context on it as well.",
        (
            (
                "Give the script another device, lower its share (vLLM: `gpu_memory_utilization`), or free "
                "the server's cache first."
            ),
            (
                "Let no process make a context that it does not need: a parent that only starts workers "
                "stays cold."
            ),
        ),
        "coldfork exec --devices 1 -- SCRIPT",
        kinds=("OutOfMemoryError", "RuntimeError"),
        needles=("CUDA out of memory",),
        alternatives=("a model that is too large for the device, with nothing beside it",),
    ),
    Trouble(
        "device-busy",
        "`CUDA error: all CUDA-capable devices are busy or unavailable`",
        r"CUDA-capable device\(s\) is/are busy or unavailable|CUDA-capable devices are busy or unavailable"
        r"|cudaErrorDevicesUnavailable|CUDA_ERROR_DEVICE_UNAVAILABLE",
        "The device admits one process at a time (compute mode EXCLUSIVE_PROCESS), and another one holds a "
        "context on it: often the parent, which needed none.",
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
        r"|cudaErrorInsufficientDriver|CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        "The framework was built for a newer CUDA than the driver can serve.",
        (
            (
                "Update the driver, or install the build of the framework that is made for the driver's "
                "CUDA: `nvidia-smi` shows it."
            ),
        ),
        kinds=(*_CUDA_ERRORS, "UserWarning", "ImportError", "CudaSupportError"),
        needles=("driver on your system is too old", "driver version is insufficient", "InsufficientDriver"),
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
                "Install the extension for the torch that is installed: a wheel made for it, or built anew "
                "(`pip install --no-build-isolation --no-binary :all: --force-reinstall PACKAGE`)."
            ),
            "Install torch, torchvision and torchaudio together, from one index.",
        ),
        kinds=("ImportError", "OSError", "RuntimeError"),
        needles=("undefined symbol", "torchvision::nms does not exist"),
    ),
    Trouble(
        "capture-invalidated",
        "`CUDA error: operation not permitted when stream is capturing`",
        r"operation not permitted when stream is capturing|cudaErrorStreamCapture\w+"
        r"|operation would make the legacy stream depend on a capturing|operation failed due to a previous "
        r"error "
        r"during capture|CUDA_ERROR_STREAM_CAPTURE_\w+",
        "Code that runs while a CUDA graph is captured did what cannot be recorded: it waited for the "
        "device, allocated with the driver, or initialised something (cuBLAS, an attention backend) for the "
        "first time.",
        (
            (
                "Run the same code once before the capture, on the same stream, so that everything lazy is "
                "done; `coldfork.graphs.GraphManager` keeps what warm-up leaves behind out of the capture."
            ),
            (
                "Take what waits for the device out of the captured code: `.item()`, `.cpu()`, printing a "
                "tensor."
            ),
        ),
        "coldfork rule lazy-init-in-captured-region",
        kinds=(*_CUDA_ERRORS, "UserWarning"),
        needles=(
            "stream is capturing",
            "StreamCapture",
            "depend on a capturing",
            "previous error during capture",
            "STREAM_CAPTURE",
        ),
    ),
    Trouble(
        "shared-memory",
        "`DataLoader worker (pid 7) is killed by signal: Bus error`, or NCCL's `Error while creating shared "
        "memory segment /dev/shm/nccl-x`",
        r"is killed by signal: Bus error|insufficient shared memory \(shm\)"
        r"|Error while creating shared memory segment /dev/shm/nccl",
        "The processes share tensors through /dev/shm, and it is full: containers have 64 MB of it unless "
        "told otherwise.",
        (
            (
                "Give the container more: `docker run --shm-size=8g` or `--ipc=host`; in Kubernetes an "
                "emptyDir with `medium: Memory` at /dev/shm."
            ),
            "Start fewer workers, or set `torch.multiprocessing.set_sharing_strategy('file_system')`.",
        ),
        kinds=("RuntimeError", "DistBackendError"),
        needles=("Bus error", "insufficient shared memory", "creating shared memory segment"),
    ),
)
