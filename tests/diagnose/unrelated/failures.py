"""Programs that fail for reasons which have nothing to do with a device in the wrong process."""

from __future__ import annotations

#: One program a line; many hold the words cuda, fork and GPU on purpose. Each raises for real.
PYTHON = r"""
{}["cuda"]
[][3]
int("gpu0")
None.fork()
undefined_gpu
1 / 0
assert len([]) == 1, "expected one GPU"
import no_such_package_cuda
from os import fork_safely
open("/no/such/fork.yaml")
"text" + 1
len(5)
raise SystemError("error return without exception set")
raise RuntimeError("fork the repository before you push to it")
raise RuntimeError("generator raised StopIteration")
raise TimeoutError("timed out while waiting for the GPU queue")
raise ConnectionRefusedError(111, "Connection refused")
raise ConnectionResetError(104, "Connection reset by peer")
raise BrokenPipeError(32, "Broken pipe")
raise PermissionError(13, "Permission denied", "/dev/nvidia0")
raise IsADirectoryError(21, "Is a directory", "/models/cuda")
raise OSError(28, "No space left on device", "/cache/cuda.bin")
raise OSError(24, "Too many open files", "/data/fork/0001")
raise OSError(98, "Address already in use")
raise BlockingIOError(11, "Resource temporarily unavailable: os.fork")
raise OSError(12, "Cannot allocate memory: os.fork")
raise ChildProcessError(10, "No child processes")
raise EOFError("EOF when reading a line")
raise MemoryError("the host has no memory left for the fork")
raise RecursionError("maximum recursion depth exceeded")
raise KeyboardInterrupt
raise NotImplementedError("Could not run 'aten::foo' with arguments from the 'CUDA' backend.")
raise ImportError("libcudart.so.12: cannot open shared object file: No such file or directory")
raise ImportError("/lib/libpq.so.5: undefined symbol: EVP_MD_CTX_new")
raise ImportError("cannot import name 'cuda' from partially initialized module 'engine'")
raise ImportError("numpy.core.multiarray failed to import")
raise ModuleNotFoundError("No module named 'flash_attn'")
raise AssertionError("Torch not compiled with CUDA enabled")
raise AssertionError("Regex: 'Cannot re-initialize CUDA in forked subprocess' did not match 'no'")
raise RuntimeError("CUDA error: an illegal memory access was encountered")
raise RuntimeError("CUDA error: device-side assert triggered")
raise RuntimeError("CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`")
raise RuntimeError("the engine must be initialized before its backends are")
raise RuntimeError("the schedule cannot be modified after being initialized")
raise RuntimeError("capture of the CUDA graph took too long, replay it")
raise RuntimeError("CUDA error: unspecified launch failure")
raise RuntimeError("CUDA error: uncorrectable ECC error encountered")
raise RuntimeError("CUDA error: no kernel image is available for execution on the device")
raise RuntimeError("CUDA error: misaligned address")
raise RuntimeError("CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling cublasSgemm")
raise RuntimeError("cuDNN error: CUDNN_STATUS_MAPPING_ERROR")
raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has 15.78 GiB")
raise RuntimeError("Expected all tensors to be on the same device, but found cuda:0 and cpu!")
raise RuntimeError("mat1 and mat2 shapes cannot be multiplied (4x3 and 4x3)")
raise RuntimeError("Input type (cuda.FloatTensor) and weight type (FloatTensor) should be the
same") raise RuntimeError("Error(s) in loading state_dict for Engine: size mismatch for head.weight")
raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
raise RuntimeError("Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is
False.") raise RuntimeError("NCCL communicator was aborted on rank 0.")
raise RuntimeError("[1]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=12, OpType=ALLREDUCE)")
raise RuntimeError("The server socket has failed to listen on any local network address. port: 29500")
raise RuntimeError("Trying to backward through the graph a second time")
raise RuntimeError("DataLoader worker (pid 4) exited unexpectedly with exit code 1")
raise RuntimeError("can't start new thread")
raise RuntimeError("dictionary changed size during iteration")
raise RuntimeError("Event loop is closed")
raise RuntimeError("This event loop is already running")
raise RuntimeError("Engine core initialization failed. See root cause above.")
raise RuntimeError("initialization error in the configuration: no model named fork")
raise RuntimeError("the context has not been set")
raise ValueError("No available memory for the cache blocks. Try increasing `gpu_memory_utilization`.")
raise ValueError("The model's max seq len (131072) is larger than the KV cache of the GPU")
raise ValueError("Bfloat16 is only supported on GPUs with compute capability of at least 8.0.")
raise ValueError("unknown start method 'forkspoon'")
raise ValueError("cannot find context for 'fork'")
raise ValueError("Tokenizer class CudaTokenizer does not exist")
raise ValueError("could not convert string to float: 'cuda'")
raise TypeError("forward() missing 1 required positional argument: 'cuda_graph'")
raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu()")
raise TypeError("Object of type device is not JSON serializable")
raise AttributeError("module 'torch' has no attribute 'cuda_fork'")
raise AttributeError("'NoneType' object has no attribute 'gpu_id'")
raise KeyError("model.layers.0.fork.weight")
raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
raise LookupError("unknown encoding: cuda")
raise StopAsyncIteration("no more GPU batches")
raise ArithmeticError("loss is nan on cuda:0")
raise FloatingPointError("underflow in the fork of the loss")
raise OverflowError("cannot convert float infinity to integer")
raise BufferError("Existing exports of data: object cannot be re-sized")
raise ExceptionGroup("unhandled errors in a TaskGroup", [KeyError("gpu"), ValueError("fork")])
import json; json.loads("{cuda: 1}")
import pickle; pickle.dumps(lambda: "fork")
import subprocess; subprocess.run(["false", "--fork"], check=True)
import socket; socket.create_connection(("127.0.0.1", 1), timeout=1)
import zipfile; zipfile.ZipFile("/dev/null")
import struct; struct.unpack("i", b"gpu")
import datetime; datetime.date(2026, 2, 30)
import re; re.compile("(fork")
import ast; ast.parse("if cuda\n  fork()")
import configparser; configparser.ConfigParser().get("gpu", "fork")
import queue; queue.Queue(1).get_nowait()
import asyncio; asyncio.run(asyncio.wait_for(asyncio.sleep(9), 0))
import decimal; decimal.Decimal("gpu")
import fractions; fractions.Fraction(1, 0)
import ctypes; ctypes.CDLL("libcuda_that_is_not_there.so")
import threading; threading.Lock().release()
import collections; collections.OrderedDict().popitem()
import multiprocessing; multiprocessing.get_context("spoon")
import multiprocessing; multiprocessing.Queue(1).get_nowait()
import signal; signal.signal(9, print)
import tempfile; tempfile.mkstemp(dir="/no/such/gpu")
import shutil; shutil.copy("/no/such/cuda", "/no/such/place")
import array; array.array("i", ["gpu"])
import base64; base64.b64decode("gpu", validate=True)
import gzip; gzip.decompress(b"fork")
import csv; list(csv.reader([b"cuda"]))
import xml.etree.ElementTree as tree; tree.fromstring("<gpu>")
import sqlite3; sqlite3.connect("/no/such/gpu/fork.db")
import ipaddress; ipaddress.ip_address("gpu")
import uuid; uuid.UUID("fork")
import urllib.request; urllib.request.urlopen("gpu://fork")
""".strip().splitlines()

#: Output of other programs, and of loggers; none is a failure that coldfork knows.
TEXTS = (
    "Segmentation fault (core dumped)\n",
    "Killed\n",
    "bash: fork: retry: Resource temporarily unavailable\n",
    "fork: Cannot allocate memory\n",
    "fatal: unable to fork 'cuda-toolkit'\n",
    "nvcc fatal   : Unsupported gpu architecture 'compute_120'\n",
    "ptxas error   : Entry function uses too much shared data (0x1a400 bytes, 0xc000 max)\n",
    "NVRM: Xid (PCI:0000:3b:00): 79, pid=2211, GPU has fallen off the bus.\n",
    "npm ERR! code ELIFECYCLE\nnpm ERR! fork-ts-checker-webpack-plugin\n",
    "ERROR: No matching distribution found for torch==9.9+cu999\n",
    "make: *** [Makefile:12: cuda] Error 2\n",
    "INFO Capturing CUDA graph shapes: 100%|####| 67/67\nINFO Graph capturing finished in 21 secs\n",
    "INFO fork-server started; GPU 0: NVIDIA H200, 143771MiB, no error\n",
    "see the FAQ: 'Cannot re-initialize CUDA in forked subprocess' has an entry of its own\n",
    (
        "# tests/test_fork.py\nwith pytest.raises(RuntimeError, match='Cannot re-initialize CUDA in forked "
        "subprocess'):\n"
    ),
    "W0930 12:00:00.1 33 cuda_dnn.cc:8498] Unable to register cuDNN factory\n",
    "The kernel appears to have died. It will restart automatically.\n",
    (
        "Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f1 (most recent call first):\n"
        '  File "/srv/gpu.py", line 3 in work\n'
        '  File "/opt/python/lib/python3.11/multiprocessing/process.py", line 314 in _bootstrap\n'
        '  File "/opt/python/lib/python3.11/multiprocessing/popen_fork.py", line 71 in _launch\n'
    ),
    "java.lang.OutOfMemoryError: CUDA out of memory was never the problem\n\tat Main.fork(Main.java:3)\n",
    "panic: runtime error: index out of range [3] with length 3\n\ngoroutine 1 [running]:\nmain.fork()\n",
    "ray.exceptions.RayActorError: The actor died unexpectedly before finishing this task.\n",
    "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n",
    "ray.exceptions.WorkerCrashedError: The worker died unexpectedly while executing this task.\n",
    "billiard.exceptions.WorkerLostError: Worker exited prematurely: signal 9 (SIGKILL) Job: 3.\n",
    "celery.exceptions.NotRegistered: 'tasks.train_on_gpu'\n",
    "kombu.exceptions.OperationalError: [Errno 111] Connection refused\n",
    "[ERROR] Worker (pid:4242) was sent SIGKILL! Perhaps out of memory?\n",
    "[CRITICAL] WORKER TIMEOUT (pid:4242)\n",
    "slurmstepd: error: Detected 1 oom-kill event(s) in step 77.0 cgroup.\n",
    "srun: error: node1: task 3: Exited with exit code 1\n",
    "Back-off restarting failed container cuda-worker in pod fork-0\n",
    "Error: failed to create containerd task: OCI runtime create failed: nvidia-container-cli\n",
    'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].\n',
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n",
    "Failed to initialize NVML: Driver/library version mismatch\n",
    "torch.distributed.DistNetworkError: The client socket has timed out after 60000ms\n",
    "torch.distributed.DistStoreError: Timed out after 901 seconds waiting for clients. 7/8 joined.\n",
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: train.py FAILED\n",
    "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError\n",
    "torch.distributed.DistBackendError: NCCL error: remote process exited or there was a network error\n",
    "n1:9:9 [3] net_ib.cc:42 NCCL WARN NET/IB : No device found.\n",
    "n1:9:9 [3] bootstrap.cc:42 NCCL WARN Bootstrap : no socket interface found\n",
    "torch._dynamo.exc.Unsupported: call_function BuiltinVariable(fork) [] {}\n",
    "torch._dynamo.exc.InternalTorchDynamoError: 'NoneType' object has no attribute 'device'\n",
    "torch._inductor.exc.InductorError: CalledProcessError: Command gcc returned non-zero exit status 1\n",
    "triton.compiler.errors.CompilationError: at 12:4: unsupported conversion to fp8 on this GPU\n",
    "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 106496\n",
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 3 bytes.\n",
    "jax.errors.TracerBoolConversionError: Attempted boolean conversion of traced array\n",
    "jax.errors.ConcretizationTypeError: Abstract tracer value encountered where concrete is expected\n",
    "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor on GPU:0\n",
    "tensorflow.python.framework.errors_impl.InvalidArgumentError: Cannot assign a device for operation\n",
    "2026-01-01 10:00:00.1: W tensorflow/core/common_runtime/bfc_allocator.cc:479] ran out of memory\n",
    "2026-01-01 10:00:00.1: I cuda_executor.cc:982] could not open file to read NUMA node\n",
    "onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument: [ONNXRuntimeError] : 2 : got fork\n",
    "onnxruntime.capi.onnxruntime_pybind11_state.NoSuchFile: [ONNXRuntimeError] : 3 : load failed\n",
    "onnxruntime.capi.onnxruntime_pybind11_state.Fail: [ONNXRuntimeError] : 1 : CUBLAS failure 14\n",
    "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 800 bytes (allocated so far: 512)\n",
    "numba.core.errors.TypingError: Failed in cuda mode pipeline (step: nopython frontend)\n",
    "lightning.fabric.utilities.exceptions.MisconfigurationException: You requested gpu: [3]\n",
    "huggingface_hub.errors.RepositoryNotFoundError: 404 Client Error for fork-of-cuda\n",
    "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='gpu', port=443)\n",
    "asyncio.exceptions.TimeoutError\n",
    "grpc._channel._InactiveRpcError: StatusCode.UNAVAILABLE fork of the stub\n",
    "joblib.externals.loky.process_executor.TerminatedWorkerError: A worker process was terminated\n",
    "concurrent.futures.process.BrokenProcessPool: A process in the process pool was terminated\n",
    "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace.\n",
    "sglang.srt.utils.SchedulerError: the scheduler is dead, GPU 0\n",
    "safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge\n",
    "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig: fork\n",
    "ninja: build stopped: subcommand failed.\nRuntimeError: Error building extension 'fused_cuda'\n",
    "RuntimeError: CUDA error: device kernel image is invalid\n",
    "RuntimeError: Triton Error [CUDA]: device kernel image is invalid\n",
    "E   assert torch.cuda.is_available()\nE    +  where False = is_available()\n",
    "ValueError: the KV cache holds 2400 tokens, fewer than the model's longest sequence on this GPU\n",
    "CHILD PROCESS FAILED WITH NO ERROR_FILE\nChild process 170 (local_rank 0) FAILED (exitcode 1)\n",
    "E0325 20:57:27.6 26 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -9)\n",
    "distributed.nanny - WARNING - Worker process 15662 was killed by unknown signal\n",
    "success 3\nfailure of the forkserver's child with exitcode 255\n",
    "WARNING 06:10:30 [utils.py:157] We must use the `spawn` start method. Reasons: CUDA is initialized\n",
    "[802] Call to cuInit results in UNKNOWN_CUDA_ERROR:\n",
    "RuntimeError: Triton Error [CUDA]: device-side assert triggered\n",
    "AttributeError: 'IterableQueue' object has no attribute 'namespace'\n",
    "#0  sccp () at thread/syscall_cp.c:11\n#1  0x00007f39c9af010a in waitpid () at process/waitpid.c:6\n",
    "THCudaCheck FAIL file=/pytorch/aten/src/THC/THCGeneral.cpp line=383 error=11 : invalid argument\n",
    "Search for `cudaErrorAssert' in https://docs.nvidia.com/cuda/cuda-runtime-api/index.html\n",
    "ERROR a step raised <class 'KeyError'> exception: 'cuda in forked subprocess'\n",
    (
        "RuntimeError: CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 15.90 GiB total capacity; "
        "14.25 GiB already allocated; 0.99 GiB free; 14.30 GiB reserved in total by PyTorch)\n"
    ),
    "ggml_cuda_init: found 1 CUDA devices, real_cuMemGetInfo returned free=15949.69 MiB\n",
)
