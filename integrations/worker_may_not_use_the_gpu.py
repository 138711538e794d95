"""The crash of the vLLM 0.11.0 bug report, on a machine without a GPU.

`./dev integration worker_may_not_use_the_gpu` runs it. vLLM's Python files are the published ones; its
compiled modules are empty. torch is a CPU build.
"""

from __future__ import annotations

import shutil
import sys

from integrations import copied_torch
from integrations.environment import Environment
from integrations.transcript import Transcript, main
from published import sources, vllm

ENVIRONMENT = Environment("worker_may_not_use_the_gpu", vllm.REQUIREMENTS)
BACKEND = "vllm.v1.attention.backends.flash_attn"
ALTERED = "This sentence stands in a copy of torch"

INTRODUCTION = """
`./dev integration worker_may_not_use_the_gpu` makes an environment with a CPU build of torch and with the
Python files of vLLM 0.11.0 as they were published, puts empty modules where vLLM's compiled ones would be,
and gives the programs a virtual H100. The machine has no GPU. What follows is what was printed.
"""


def prepare() -> Environment:
    """The environment, with vLLM in it."""
    ENVIRONMENT.prepare()
    place = ENVIRONMENT.packages / "vllm"
    if not (place / "_C.py").exists():
        shutil.copytree(sources.obtain(vllm.VLLM), ENVIRONMENT.packages, dirs_exist_ok=True)
        vllm.stand_in(place)
    return ENVIRONMENT


def run() -> Transcript:
    """Everything that is promised about this crash."""
    environment = prepare()
    transcript = Transcript("The worker of vLLM 0.11.0 that may not use the GPU", INTRODUCTION)
    torch = copied_torch.altered(environment.packages / "torch", environment.folder / "altered", ALTERED)
    transcript.step(
        "Importing the attention backend wakes the device, and a child forked after it cannot use it.",
        environment.run("worker_may_not_use_the_gpu", "parent"),
        r"^after the import: driver awake, torch.cuda.is_initialized\(\) True$",
        r'^  File "site-packages/torch/cuda/__init__.py", line \d+, in _lazy_init$',
        r"^RuntimeError: Cannot re-initialize CUDA in forked subprocess\.",
    )
    transcript.step(
        "As in the report: a parent that asked whether there is a GPU before it imported vLLM, vLLM's own "
        "choice of the start method, and a worker whose first import of the backend dies in the body of a "
        "class.",
        environment.run("worker_may_not_use_the_gpu", "child"),
        r"^now: driver awake, torch.cuda.is_initialized\(\) False$",
        r"^vLLM chooses fork$",
        r'^  File "site-packages/vllm/v1/attention/backends/flash_attn.py", line 175, in FlashAttention',
        r'^  File "site-packages/vllm/attention/utils/fa_utils.py", line 37, in get_flash_attn_version$',
        r'^  File ".*/vllm/vllm_flash_attn/flash_attn_interface.py", line 43, in _is_fa3_supported$',
        r"^RuntimeError: Cannot re-initialize CUDA in forked subprocess\.",
        r"^the worker ended with 1$",
    )
    transcript.step(
        "The words are torch's: with a copy of torch whose message was changed, the changed message comes.",
        environment.run("worker_may_not_use_the_gpu", "parent", ahead=[torch]),
        rf"^RuntimeError: {ALTERED}\.",
    )
    transcript.step(
        f"`coldfork probe --virtual h100 {BACKEND}` names the line and the chain.",
        environment.probe("--virtual", "h100", BACKEND),
        r"^  --> .*flash_attn.py:175  in the body of FlashAttentionMetadataBuilder$",
        r"^ +1\. get_flash_attn_version +.*fa_utils.py:37$",
        r"^ +2\. is_fa_version_supported +.*flash_attn_interface.py:57$",
        r"^ +3\. _is_fa3_supported +.*flash_attn_interface.py:43$",
        r"^ +4\. torch.cuda.get_device_capability",
        status=1,
    )
    return transcript


if __name__ == "__main__":
    sys.exit(main("worker_may_not_use_the_gpu", run))
