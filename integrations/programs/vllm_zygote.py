"""Starts vLLM twice in one program, and says what each start costs.

    vllm_zygote.py MODEL (spawn | LIST)

LIST is what `coldfork preload --output` has written, and then a zygote forks vLLM's processes. The program
has vLLM imported when the first start begins, as a service would. The processor time of a start is that of
the program and of all its processes.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
import time
from pathlib import Path
from typing import Any

import coldfork

CHOOSERS = (
    "vllm.utils.system_utils",
    "vllm.v1.engine.coordinator",
    "vllm.v1.engine.utils",
    "vllm.v1.executor.multiproc_executor",
)
"""The modules of vLLM that hold the function which chooses how processes are started."""
PROMPT = "the quick brown fox jumps over the lazy dog the quick brown fox"
ZYGOTE = sys.argv[2].endswith(".toml")

logging.getLogger("coldfork").addHandler(logging.StreamHandler(sys.stdout))
logging.getLogger("coldfork").setLevel(logging.INFO)
if ZYGOTE:
    # Early, so that the server imports while this program does; in a worker it is the one that forked it.
    coldfork.zygote(preload=sys.argv[2])


def use_the_zygote() -> None:
    """Have vLLM start its processes by the zygote: in the program, and in EngineCore for its workers."""
    context = coldfork.get_context("zygote")
    for name in CHOOSERS:
        vars(importlib.import_module(name))["get_mp_context"] = lambda: context


def start(model: str) -> Any:
    """An engine that can answer."""
    from vllm import LLM

    return LLM(model=model, max_model_len=256, dtype="float32", enforce_eager=True, max_num_seqs=4)


def answer(llm: Any) -> list[int]:
    """Return what the model generates, deterministically."""
    from vllm import SamplingParams

    wanted = SamplingParams(temperature=0, max_tokens=32, ignore_eos=True)
    (answered,) = llm.generate([PROMPT], wanted, use_tqdm=False)
    return list(answered.outputs[0].token_ids)


def spent() -> dict[int, tuple[int, int]]:
    """The processor time of this process and of all below it, and of those that they have waited for."""
    found = {}
    for pid in below(os.getpid()):
        try:
            fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        own, waited = sum(map(int, fields[11:13])), sum(map(int, fields[13:15]))
        found[pid] = (own, waited)
    return found


def cost(before: dict[int, tuple[int, int]], after: dict[int, tuple[int, int]]) -> float:
    """Return the seconds spent between two looks.

    Of processes that were there before only what they have computed themselves: they may have waited just now
    for the end of an engine that was started earlier.
    """
    ticks = sum(
        own - before[pid][0] if pid in before else own + waited for pid, (own, waited) in after.items()
    )
    return ticks / os.sysconf("SC_CLK_TCK")


def below(pid: int) -> list[int]:
    """A process, its children and theirs."""
    found = [pid]
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, thread.read_text().split()):
            found += below(child)
    return found


def main() -> None:
    """Do it."""
    import vllm  # noqa: F401 - a program that uses it has imported it

    if ZYGOTE:
        context: Any = coldfork.get_context("zygote")
        context.zygote.wait()
    for which in ("first", "second"):
        before, began = spent(), time.monotonic()
        llm = start(sys.argv[1])
        seconds, wall = cost(before, spent()), time.monotonic() - began
        print(f"{which} start: {seconds:.2f} processor seconds, {wall:.2f} seconds", flush=True)
        print("tokens:", *answer(llm), flush=True)
        llm.llm_engine.engine_core.shutdown()
        del llm
    print("done", flush=True)


if ZYGOTE:
    use_the_zygote()

if __name__ == "__main__":
    main()
