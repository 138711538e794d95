"""Hugging Face's tokenizers: whether a batch was encoded in parallel, and how a fork then affects
the child.
"""

from __future__ import annotations

from coldfork.observe.probes.pools import counted, examined
from coldfork.observe.probes.reading import AWAKE, Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from coldfork.observe.probes.process import ProbedProcess
    from coldfork.observe.probes.threads import NativeThread

ACCELERATOR = "tokenizers"
PREFIXES = ("tokenizers.abi3", "tokenizers.cpython")
VARIABLE = "TOKENIZERS_PARALLELISM"
# The values that turn parallelism off, from src/utils/parallelism.rs of tokenizers.
_OFF = frozenset({"", "off", "false", "f", "no", "n", "0"})


def examine(process: ProbedProcess) -> Reading:
    """Return awake if the thread pool of tokenizers exists."""

    def seen(workers: tuple[NativeThread, ...], library: str) -> Reading:
        reason = f"its pool runs {counted(len(workers))}; {_after_a_fork(process)}"
        return Reading(ACCELERATOR, AWAKE, reason, library, survives_fork=survives_fork(process))

    return examined(ACCELERATOR, process, PREFIXES, seen, cold="nothing was encoded in parallel")


def survives_fork(process: ProbedProcess) -> bool:
    """Return whether a forked child works without the pool; it does unless the variable turns the pool on."""
    setting = process.setting(VARIABLE)
    return setting is None or setting.lower() in _OFF


def _after_a_fork(process: ProbedProcess) -> str:
    setting = process.setting(VARIABLE)
    if setting is None:
        return f"{VARIABLE} is not set, so its own handler lets a forked child go on without it"
    if survives_fork(process):
        return f"{VARIABLE}={setting} lets a forked child go on without it"
    return f"{VARIABLE} is set, so a forked child waits for it in vain"
