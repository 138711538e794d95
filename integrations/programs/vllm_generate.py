"""Generates with vLLM and n-gram speculative decoding, and tells how each of vLLM's processes was started.

    vllm_generate.py MODEL [--as-on-gpu | --forced] [--parallel-operation]

vLLM's CPU platform sets the start method to spawn, whatever one asks for. `--as-on-gpu` undoes that one
setting, so that vLLM chooses as it does on a GPU: fork, unless it knows of a reason against it. `--forced`
leaves no choice to anybody: it is fork.
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import multiprocessing
import os
import signal
import struct
import sys
from pathlib import Path
from typing import Any

AT_RANDOM = 25
METHOD = "VLLM_WORKER_MULTIPROC_METHOD"
CHOOSERS = (
    "vllm.utils.system_utils",
    "vllm.v1.engine.coordinator",
    "vllm.v1.engine.utils",
    "vllm.v1.executor.multiproc_executor",
)
PROMPT = "the quick brown fox jumps over the lazy dog the quick brown fox"
SPECULATION = {
    "method": "ngram",
    "num_speculative_tokens": 5,
    "prompt_lookup_max": 5,
    "prompt_lookup_min": 2,
}


def main() -> None:
    """Do it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--as-on-gpu", action="store_true")
    parser.add_argument("--forced", action="store_true")
    parser.add_argument("--parallel-operation", action="store_true")
    options = parser.parse_args()
    # Inherited by forked children: the watchdog asks them where they stand.
    faulthandler.register(signal.SIGUSR1, all_threads=False)
    if options.parallel_operation:
        operate()
    if options.as_on_gpu:
        choose_as_on_gpu()
    if options.forced:
        force_fork()
    generate(options.model)


def operate() -> None:
    """One operation of torch that uses more than one thread, as a program may have done before."""
    import torch

    torch.randn(4_000_000).exp().sum().item()
    print("the parent ran torch.randn(4_000_000).exp().sum()", flush=True)


def choose_as_on_gpu() -> None:
    """Let the CPU platform leave the variable alone that says how workers are to be started."""
    from vllm.platforms.cpu import CpuPlatform

    update = CpuPlatform.check_and_update_config.__func__

    def update_but_leave_the_method(cls: type, config: Any) -> None:
        asked = os.environ.get(METHOD)
        update(cls, config)
        os.environ.pop(METHOD, None)
        if asked is not None:
            os.environ[METHOD] = asked

    CpuPlatform.check_and_update_config = classmethod(update_but_leave_the_method)


def force_fork() -> None:
    """Replace the choice in every module that has it, after the plugins have done what they do."""
    from vllm.plugins import load_general_plugins

    load_general_plugins()
    context = multiprocessing.get_context("fork")
    for name in CHOOSERS:
        vars(importlib.import_module(name))["get_mp_context"] = lambda: context


def generate(model: str) -> None:
    """Start the engine, generate, and tell of the processes while they live."""
    from vllm import LLM, SamplingParams

    llm = LLM(
        model=model,
        max_model_len=256,
        dtype="float32",
        enforce_eager=True,
        max_num_seqs=4,
        speculative_config=SPECULATION,
        disable_log_stats=False,
    )
    wanted = SamplingParams(temperature=0, max_tokens=32, ignore_eos=True)
    (answer,) = llm.generate([PROMPT], wanted, use_tqdm=False)
    print("tokens:", *answer.outputs[0].token_ids)
    for metric in llm.get_metrics():
        if metric.name in ("vllm:spec_decode_num_draft_tokens", "vllm:spec_decode_num_accepted_tokens"):
            print(f"{metric.name}: {metric.value}")
    print(f"process {os.getpid()}: main{guard()}")
    tell_of_children(os.getpid())


def guard() -> str:
    """The mode of coldfork's guard here; its plugin installs it before vLLM's logging is set up."""
    module = sys.modules.get("coldfork.start.guard.process")
    return "" if module is None else f", with coldfork's guard on ({module.HERE.mode})"


def tell_of_children(parent: int) -> None:
    """How each process of vLLM below this one came to be."""
    for child in children(parent):
        name = Path(f"/proc/{child}/cmdline").read_bytes().rstrip(b"\0").decode()
        # A forked process has the address space of its parent; what was executed was given a new one.
        if name.startswith("VLLM::"):
            method = "fork" if randomness(child) == randomness(parent) else "spawn"
            print(f"process {child}: {name.split()[0]} of {parent}, started by {method}", flush=True)
        tell_of_children(child)


def children(parent: int) -> list[int]:
    """The children of a process, whichever of its threads started them."""
    threads = Path(f"/proc/{parent}/task").glob("*/children")
    return sorted(int(pid) for thread in threads for pid in thread.read_text().split())


def randomness(pid: int) -> int:
    """The address of the random bytes that the kernel gave to a program when it was executed."""
    vector = Path(f"/proc/{pid}/auxv").read_bytes()
    pairs = struct.iter_unpack("@LL", vector[: len(vector) // 16 * 16])
    return next(int(value) for key, value in pairs if key == AT_RANDOM)


if __name__ == "__main__":
    main()
