"""PyTorch's DataLoader, which forks unless it is told otherwise: `./dev integration dataloader`"""

from __future__ import annotations

import sys

from integrations.environment import Environment
from integrations.transcript import Transcript, main

ENVIRONMENT = Environment("dataloader", ("torch==2.13.0+cpu", "numpy", "polars==2.1.0"))

INTRODUCTION = """
`./dev integration dataloader` installs torch 2.13.0 for CPUs and polars 2.1.0, and reads through a
DataLoader with `num_workers`, once as it is and once with
`multiprocessing_context=coldfork.get_context()`. The machine has no GPU: the device is a virtual H100. A
program that hangs is asked where each of its processes stands, and ended.
"""


def run() -> Transcript:
    """A data set on polars, and one on a device."""
    ENVIRONMENT.prepare()
    transcript = Transcript("PyTorch's DataLoader", INTRODUCTION)
    transcript.step(
        "A data set that queries a polars frame, after the parent has queried it too: the workers are "
        "forked, and wait for ever for threads that no fork copies.",
        ENVIRONMENT.watch_program("dataloader_polars", "plain"),
        r"^the parent counted 10000$",
        r"^Stack .*:\n  File \"site-packages/polars/lazyframe/engine.py\", line \d+ in collect$",
        status=None,
    )
    transcript.step(
        "The same with coldfork's context.",
        ENVIRONMENT.watch_program("dataloader_polars", "coldfork"),
        r"^coldfork: spawn, because polars is awake here",
        r"^a worker counted \[10000, 10000\]\na worker counted \[10000, 10000\]$",
    )
    transcript.step(
        "A data set that uses the device, after the parent has used it too.",
        ENVIRONMENT.watch_program("dataloader_device", "plain"),
        r"^the parent sees NVIDIA H100",
        r"^RuntimeError: Cannot re-initialize CUDA in forked subprocess\.",
        status=1,
    )
    transcript.step(
        "The same with coldfork's context.",
        ENVIRONMENT.watch_program("dataloader_device", "coldfork"),
        r"^coldfork: spawn, because cuda is awake here",
        r"^a worker sees \['0: NVIDIA H100.*\n^a worker sees \['1: NVIDIA H100",
    )
    return transcript


if __name__ == "__main__":
    sys.exit(main("dataloader", run))
