"""What goes wrong where accelerator work is started from another process: the sign, the cause, the remedy.

Data, so that whoever sees a sign can quote the rest. The page `docs/how-to/starting-troubles.md` is written
from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Trouble:
    """One way in which starting accelerator work fails."""

    name: str
    sign: str
    """What is seen, as a person would describe it."""
    pattern: str | None
    """A regular expression that finds it in an output; None where there is nothing to find."""
    cause: str
    remedy: str
    command: str | None = None
    """The command to type next."""


TROUBLES = (
    Trouble(
        "cuda-in-forked-child",
        "`RuntimeError: Cannot re-initialize CUDA in forked subprocess`",
        r"Cannot re-initialize CUDA in forked subprocess",
        "The process was forked from one in which CUDA had been initialised, by a server or by an import.",
        "Run the script with `coldfork.run_script` or `coldfork exec`: it gets a new interpreter, with "
        "spawn as its default start method.",
        "coldfork exec -- SCRIPT",
    ),
    Trouble(
        "fork-refused",
        "`UnsafeForkError` in an isolated script",
        r"UnsafeForkError",
        'The script chose fork itself, by `set_start_method` or `get_context("fork")`, while a device was '
        "awake in it; the guard refused, and names who woke the device.",
        "Take the method out of the script, or start its workers before it touches the device. "
        '`env={"COLDFORK_GUARD": "warn"}` lets the fork happen and says so.',
        "coldfork exec --env COLDFORK_GUARD=warn -- SCRIPT",
    ),
    Trouble(
        "no-main-guard",
        "`An attempt has been made to start a new process before the current process has finished its "
        "bootstrapping phase`",
        r"before the\s+current process has finished its bootstrapping phase",
        "With spawn and forkserver a worker imports the script anew, and the script starts workers when "
        "it is imported.",
        'Put what starts workers behind `if __name__ == "__main__":`.',
    ),
    Trouble(
        "context-already-set",
        "`RuntimeError: context has already been set`",
        r"context has already been set",
        "`set_start_method` was called twice in one process: by the script and by a library, or by a module "
        "that workers import.",
        "Leave it out: in an isolated script the default is the method you asked for. Code that needs "
        "another one takes `multiprocessing.get_context(...)`.",
    ),
    Trouble(
        "method-ignored",
        "`MULTIPROCESSING_START_METHOD=spawn` is set, and workers are forked all the same",
        None,
        "Python itself does not read this variable.",
        "It is enforced in an isolated script and in every Python that it starts; `enforced` in the "
        "result says whether that worked. An interpreter run with -I, -E or -S keeps coldfork out.",
        "coldfork exec -- SCRIPT",
    ),
    Trouble(
        "daemonic",
        "`AssertionError: daemonic processes are not allowed to have children`",
        r"daemonic processes are not allowed to have children",
        "An engine with workers was started inside a worker of a pool, and those are daemons.",
        "Run it as an isolated script, which is no daemon and still ends with its caller.",
        "coldfork exec -- SCRIPT",
    ),
    Trouble(
        "invalid-device",
        "`CUDA error: invalid device ordinal`, or no device at all",
        r"invalid device ordinal|No CUDA GPUs are available|no CUDA-capable device is detected",
        "The script asks for a device by its number on the machine; it sees only those in its "
        "CUDA_VISIBLE_DEVICES, counted from 0.",
        "Number devices from 0 in the script, and choose them with `devices=`, which counts within the "
        "devices that the caller sees.",
        "coldfork exec --devices 0 -- SCRIPT",
    ),
    Trouble(
        "out-of-memory",
        "`CUDA out of memory` in the script, on a device that the server uses too",
        r"CUDA out of memory|CUDA_ERROR_OUT_OF_MEMORY",
        "Isolation is not memory: the server's allocations stay where they are, and frameworks keep what "
        "they have freed.",
        "Give the script another device, lower its share (vLLM: `gpu_memory_utilization`), or free the "
        "server's cache first.",
        "coldfork exec --devices 1 -- SCRIPT",
    ),
    Trouble(
        "killed",
        "The script ends with SIGKILL, and says nothing",
        None,
        "Somebody killed it: mostly the system, which had no memory left, or the container's limit.",
        "`peak_memory_bytes` in report.json says how large its largest process was. If the outcome is "
        "`timed-out`, it was coldfork, because the time was up.",
    ),
    Trouble(
        "tokenizers",
        "`The current process just got forked, after parallelism has already been used`",
        r"The current process just got forked, after parallelism has already been used",
        "Tokenizers had started their threads before a fork.",
        "An isolated script has TOKENIZERS_PARALLELISM=false unless the caller's environment says otherwise.",
    ),
    Trouble(
        "hang",
        "A worker hangs at its first tensor operation, and uses no processor",
        None,
        "It was forked from a process with a used OpenMP pool, whose threads do not exist in the child.",
        "Start workers with spawn, or before the first parallel operation; the guard refuses such a fork.",
        "coldfork exec -- SCRIPT",
    ),
    Trouble(
        "forkserver-eof",
        "`EOFError` when a process is started with forkserver",
        r"forkserver[\s\S]{0,2000}EOFError|EOFError[\s\S]{0,2000}forkserver",
        "The fork server died when it imported what it was told to preload; Python does not say why.",
        "Import the module by itself to see its error, or use spawn.",
        "coldfork probe MODULE",
    ),
)


def seen_in(text: str) -> Iterator[Trouble]:
    """The troubles whose sign stands in an output."""
    for trouble in TROUBLES:
        if trouble.pattern is not None and re.search(trouble.pattern, text):
            yield trouble


def page() -> str:
    """The page of the documentation."""
    parts = [
        "# When starting accelerator work fails",
        "What is seen, why, and what to do. This page is written from `coldfork.knowledge.troubles`.",
    ]
    for trouble in TROUBLES:
        parts += [f"## {trouble.name}", f"**Seen:** {trouble.sign}", f"**Why:** {trouble.cause}"]
        parts.append(f"**What to do:** {trouble.remedy}")
        if trouble.command is not None:
            parts.append(f"```sh\n{trouble.command}\n```")
    return "\n\n".join(parts) + "\n"
