"""vLLM 0.11.0 on a virtual H100: the start method that it chooses, and what that does to the worker."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from importlib import import_module

import coldfork.virtual

BACKEND = "vllm.v1.attention.backends.flash_attn"


def parent_imports(device: coldfork.virtual.VirtualDevice) -> None:
    """Import the attention backend in the parent, then use the device in a forked child."""
    import_module(BACKEND)
    torch = import_module("torch")

    print(
        f"after the import: driver {device.state}, torch.cuda.is_initialized() {torch.cuda.is_initialized()}"
    )
    in_child(lambda: torch.cuda.set_device(0))


def child_imports(device: coldfork.virtual.VirtualDevice) -> None:
    """Ask for a GPU, then vLLM for a start method, and let the worker import the backend.

    The question comes before vLLM is imported, which sets PYTORCH_NVML_BASED_CUDA_CHECK: it would be
    harmless then.
    """
    torch = import_module("torch")
    print(f"torch.cuda.is_available() {torch.cuda.is_available()}")
    print(f"now: driver {device.state}, torch.cuda.is_initialized() {torch.cuda.is_initialized()}")
    context = import_module("vllm.utils").get_mp_context()
    print(f"vLLM chooses {context.get_start_method()}")
    worker = context.Process(target=import_module, args=(BACKEND,))
    worker.start()
    worker.join()
    print(f"the worker ended with {worker.exitcode}")


def in_child(act: Callable[[], object]) -> None:
    """Do something in a forked child and print the error it ends in."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            act()
        except BaseException:
            traceback.print_exc()
        os._exit(0)
    os.waitpid(child, 0)


if __name__ == "__main__":
    scenario = {"parent": parent_imports, "child": child_imports}[sys.argv[1]]
    scenario(coldfork.virtual.install("h100"))
