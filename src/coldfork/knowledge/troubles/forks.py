"""Troubles in a forked process that inherited something it cannot use."""

from __future__ import annotations

from coldfork.knowledge.troubles.entry import Trouble

_SPAWN = (
    'Start the process with spawn (`multiprocessing.get_context("spawn")`), or with forkserver and '
    "nothing warm in its preload list: `coldfork.get_context()` does so whenever the child's imports "
    "touch a device."
)

FORKS = (
    Trouble(
        "cuda-in-forked-child",
        "`RuntimeError: Cannot re-initialize CUDA in forked subprocess`",
        r"Cannot re-initialize (?:CUDA|XPU|MTIA|NPU|HPU|MUSA|MLU|GCU|SDAA) in forked subprocess",
        "A server or an import had woken the device before this process was forked; the child cannot use "
        "the driver state that it inherited.",
        (
            (
                "Compute it lazily: let no import touch the device, in the parent or in the child. Move "
                "the call into a function behind `functools.cache`, and call it only in the process that "
                "uses the device."
            ),
            (
                "Choose spawn when the child will touch the device: "
                '`multiprocessing.get_context("spawn")`, or `coldfork.get_context()`, which says why. A '
                "script that a server starts gets a new interpreter with spawn from "
                "`coldfork.run_script` or `coldfork exec`."
            ),
            (
                "Refuse to fork even where a device could have been woken: use "
                "`coldfork.decide(strict=True)`, or run `coldfork guard install` and set "
                "`COLDFORK_GUARD=strict`, which refuses the fork and names the line."
            ),
        ),
        "coldfork run --follow PROGRAM",
        kinds=("RuntimeError",),
        needles=("in forked subprocess",),
    ),
    Trouble(
        "initialization-error",
        "`CUDA error: initialization error`, `CUDA_ERROR_NOT_INITIALIZED` or another error 3 in a worker",
        r"(?i:cuda|hip)(?: runtime| driver)? (?:error|failure|failed)\S{0,40}?(?: )?initialization error"
        r"|(?:cuInit failed|NVRTC|CUDNN)\S{0,40}?: initialization error|CUDA_ERROR_NOT_INITIALIZED"
        r"|cudaErrorInitializationError|HIP_ERROR_NotInitialized|hipErrorNotInitialized"
        r"|CUDA driver initialization failed, you might not have a CUDA gpu"
        r"|that might have already set an error\? Error 3: initialization error"
        r"|CUDA initialized before forking",
        "The driver had been initialised in the process from which this one was forked. PyTorch's own "
        "error is missing because something else touched the driver: another library, or a question such "
        "as `torch.cuda.is_available()`, after which `torch.cuda.is_initialized()` is still False.",
        (
            (
                "Find what woke the driver in the parent, and make it lazy or let it ask NVML: "
                "`PYTORCH_NVML_BASED_CUDA_CHECK=1` lets PyTorch do so."
            ),
            _SPAWN,
        ),
        "coldfork run --follow PROGRAM",
        kinds=(
            "RuntimeError",
            "AcceleratorError",
            "CUDARuntimeError",
            "CUDADriverError",
            "CudaAPIError",
            "CudaSupportError",
            "LogicError",
            "DeferredCudaCallError",
            "CUDAError",
            "CudaDriverError",
            "RuntimeException",
            "Fail",
            "EPFail",
            "XlaRuntimeError",
            "JaxRuntimeError",
            "OSError",
            "XGBoostError",
            "UserWarning",
        ),
        needles=(
            "initialization error",
            "driver initialization failed",
            "NOT_INITIALIZED",
            "InitializationError",
            "NotInitialized",
            "before forking",
        ),
        alternatives=("a driver that does not work on this machine at all, not even in the parent",),
    ),
    Trouble(
        "aborted-after-fork",
        "`terminate called after throwing an instance of 'c10::...'` and `what():  CUDA error: "
        "initialization error`, as the last words of a worker that had done its work",
        r"terminate called after throwing an instance of '[\w:.]+' *what\(\): *(?:CUDA|HIP) error: "
        r"initialization error",
        "A worker that was forked while CUDA was initialised in its parent released inherited device "
        "state, mostly pinned memory or an event. C++ throws where nothing can catch the exception: the "
        "worker is aborted, and the program ends with an error after a successful run.",
        (
            (
                'Give the DataLoader `multiprocessing_context="spawn"`, with a dataset and a `collate_fn` '
                "that can be pickled, or make its workers before the model goes to the device."
            ),
            _SPAWN,
        ),
        "coldfork run --follow PROGRAM",
        needles=("terminate called",),
    ),
    Trouble(
        "fork-refused",
        "`UnsafeForkError` in a program, or in an isolated script",
        r"UnsafeForkError",
        "Something forked while a device was awake in the process, perhaps through `set_start_method` or "
        '`get_context("fork")`. coldfork\'s guard refused the fork, and names what woke the device.',
        (
            (
                "Remove the start method from the script, or start its workers before it touches the "
                'device. `env={"COLDFORK_GUARD": "warn"}` allows the fork and warns.'
            ),
        ),
        "coldfork exec --env COLDFORK_GUARD=warn -- SCRIPT",
        kinds=("UnsafeForkError",),
        needles=("UnsafeForkError",),
    ),
    Trouble(
        "tokenizers",
        "`The current process just got forked, after parallelism has already been used`",
        r"The current process just got forked, after parallelism has already been used",
        "Tokenizers had started their threads before a fork; the child goes on without them, more slowly.",
        (
            (
                "Set TOKENIZERS_PARALLELISM=false (an isolated script has it by default), or fork before "
                "anything is tokenized."
            ),
        ),
        needles=("just got forked",),
        is_warning=True,
    ),
    Trouble(
        "threads-at-fork",
        "`This process (pid=1) is multi-threaded, use of fork() may lead to deadlocks in the child`, or "
        "JAX's `os.fork() was called. os.fork() is incompatible with multithreaded code`, or macOS's "
        "`may have been in progress in another thread when fork() was called`",
        r"is multi-threaded, use of (?:fork|forkpty)\(\) may lead to deadlocks in the child"
        r"|os\.fork\(\) is incompatible with multithreaded code"
        r"|\+\[\w+ initialize\] may have been in progress in another thread when fork\(\) was called",
        "A process that runs several threads was forked. Only the thread that forks goes on in the "
        "child; a lock that another thread held stays locked there forever.",
        (
            _SPAWN,
            "Fork before the threads are started: before JAX computes, before a client of gRPC is made.",
        ),
        "coldfork run --follow PROGRAM",
        kinds=("DeprecationWarning", "RuntimeWarning"),
        needles=(
            "is multi-threaded, use of",
            "is incompatible with multithreaded code",
            "in another thread when fork",
        ),
        alternatives=("a child that only executes another program, which the threads do not affect",),
        is_warning=True,
    ),
    Trouble(
        "openmp-after-fork",
        "`Terminating: fork() called from a process already using GNU OpenMP, this is unsafe.`",
        r"fork\(\) called from a process already using GNU OpenMP, this is unsafe",
        "The parent had run a parallel region of libgomp; numba ends a forked child that would wait for its "
        "threads in vain.",
        (
            _SPAWN,
            "Fork before the first parallel region, or from a fresh thread, which has no pool.",
        ),
        "coldfork run --follow PROGRAM",
        needles=("already using GNU OpenMP",),
    ),
    Trouble(
        "hang",
        "A worker hangs at its first tensor operation, and uses no processor",
        None,
        "It was forked from a process whose threads (of OpenMP, polars, JAX, tokenizers or gRPC) do not "
        "exist in the child. The child waits for them forever.",
        (
            (
                "Start workers with spawn, or before the first parallel operation; coldfork's guard warns "
                "of such a fork, and refuses it in mode strict."
            ),
            "Fork from a fresh thread: neither it nor the child has an OpenMP pool.",
        ),
        "coldfork exec -- SCRIPT",
        needles=("most recent call first", "gomp_", "popen_fork.py"),
    ),
)
