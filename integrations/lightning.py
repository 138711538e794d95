"""Lightning's `ddp_fork` and `ddp_notebook`, whose own guard never speaks: `./dev integration lightning`"""

from __future__ import annotations

import sys

from integrations.environment import Environment
from integrations.transcript import Transcript, main

ENVIRONMENT = Environment("lightning", ("torch==2.13.0+cpu", "numpy", "lightning==2.6.6"))
# Lightning sets one thread for each of two processes on two cores, and one thread has no pool.
VARIABLES = {"OMP_NUM_THREADS": "2"}
NOISE = r"Tip:|deprecated, use|^-+$|^[GT]PU available|^Initializing|^distributed_backend|^All distributed"

INTRODUCTION = """
`./dev integration lightning` installs Lightning 2.6.6 and trains in two processes on the CPU, after the
model was evaluated once in the parent. `ddp_fork` and `ddp_notebook` are
`DDPStrategy(start_method="fork")`; coldfork proposes
`DDPStrategy(start_method=coldfork.decide().method)`. A program that hangs is asked where each of its
processes stands, and ended.
"""


def run() -> Transcript:
    """Training after the parent has worked, plain and with coldfork."""
    ENVIRONMENT.prepare()
    transcript = Transcript("Lightning", INTRODUCTION)
    transcript.step(
        "Forked, as `ddp_notebook` does it. Lightning asks whether the fork is bad before it forks, and sees "
        "nothing; the ranks wait for ever.",
        ENVIRONMENT.watch_program("lightning_fit", "plain", variables=VARIABLES).without(NOISE),
        r"^the parent evaluated: \(8, 256, 1024\)$",
        r"^Stack .*:\n  File \"site-packages/torch/",
        r"lightning/pytorch/strategies/launchers/multiprocessing.py\", line \d+ in _wrapping_function$",
        status=None,
    )
    transcript.step(
        "With the start method that coldfork decides on.",
        ENVIRONMENT.watch_program("lightning_fit", "coldfork", variables=VARIABLES).without(NOISE),
        r"^coldfork: spawn, because this thread has run OpenMP regions of libgomp",
        r"^rank 0: trained in a process other than the parent$",
        r"^rank 1: trained in a process other than the parent$",
    )
    return transcript


if __name__ == "__main__":
    sys.exit(main("lightning", run))
