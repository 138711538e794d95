"""accelerate's notebook_launcher, which always forks: `./dev integration accelerate`"""

from __future__ import annotations

import sys

from integrations.environment import Environment
from integrations.transcript import Transcript, main

ENVIRONMENT = Environment("accelerate", ("torch==2.13.0+cpu", "numpy", "accelerate==1.15.0"))
PROGRAM = "accelerate_launch"

INTRODUCTION = """
`./dev integration accelerate` installs accelerate 1.15.0 and launches two processes with
`notebook_launcher`, after torch computed once in the parent. `notebook_launcher` forks and no start
method can be chosen; it looks for bitsandbytes in `sys.modules` and for nothing else. The machine has no
GPU, and accelerate calls the two CPUs CUDAs. A program that hangs is asked where each of its processes
is, and ended.
"""


def run() -> Transcript:
    """The launch, plain and by three ways with coldfork."""
    ENVIRONMENT.prepare()
    transcript = Transcript("accelerate", INTRODUCTION)
    transcript.step(
        "As it is: both ranks wait for ever.",
        ENVIRONMENT.watch_program(PROGRAM, "plain"),
        r"^the parent: 4000000$",
        r"^Stack .*:\n  File \"./integrations/programs/accelerate_launch.py\", line \d+ in train$",
        status=None,
    )
    transcript.step(
        'With `coldfork.guard("strict")` before: the launch is refused at once, in the parent, with the '
        "reason and what can be done.",
        ENVIRONMENT.watch_program(PROGRAM, "guarded"),
        r"^coldfork.model.errors.UnsafeForkError: .*this thread has run OpenMP regions of libgomp",
        r"^  = help: fork from a fresh thread",
        status=1,
    )
    transcript.step(
        "What it proposes first: `notebook_launcher` called in a fresh thread. This is for OpenMP's pools; a "
        "device that is awake is so in all threads.",
        ENVIRONMENT.watch_program(PROGRAM, "fresh-thread"),
        r"^rank 0: 8000000 in both$",
        r"^rank 1: 8000000 in both$",
    )
    transcript.step(
        "For everything else: what `notebook_launcher` calls in the end, with the start method that coldfork "
        "decides on.",
        ENVIRONMENT.watch_program(PROGRAM, "spawn"),
        r"^coldfork: spawn, because this thread has run OpenMP regions of libgomp",
        r"^rank 0: 8000000 in both$",
        r"^rank 1: 8000000 in both$",
    )
    return transcript


if __name__ == "__main__":
    sys.exit(main("accelerate", run))
