"""Launches a training function with accelerate's notebook_launcher after torch worked in the parent.

accelerate_launch.py plain|guarded|fresh-thread|spawn
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading

import torch
from accelerate import Accelerator, notebook_launcher
from torch.distributed.launcher.api import LaunchConfig, elastic_launch


def train() -> None:
    """Do the work of each of the two processes."""
    torch.set_num_threads(2)  # torch's launcher sets one thread; real trainings set as many as they have
    total = torch.ones(4_000_000).sum()
    both = Accelerator(cpu=True).reduce(total)
    print(f"rank {os.environ['RANK']}: {both.item():.0f} in both", flush=True)


def launch() -> None:
    """As in a notebook."""
    notebook_launcher(train, num_processes=2, use_port="29511")


def launch_as_decided() -> None:
    """Launch as notebook_launcher does, with the start method that coldfork decides on."""
    import coldfork

    print("coldfork:", coldfork.decide(), flush=True)
    configuration = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=2,
        rdzv_backend="static",
        rdzv_endpoint="127.0.0.1:29512",
        rdzv_configs={"rank": 0},
        run_id="none",
        max_restarts=0,
        monitor_interval=0.1,
        start_method=coldfork.decide().method,
    )
    elastic_launch(configuration, entrypoint=train)()


def main(how: str) -> None:
    """Work here first, and then launch."""
    # Inherited by forked children: the watchdog asks them where they stand.
    faulthandler.register(signal.SIGUSR1, all_threads=False)
    if how == "guarded":
        import coldfork

        coldfork.guard("strict")
    print(f"the parent: {torch.ones(4_000_000).sum().item():.0f}", flush=True)
    if how == "fresh-thread":
        thread = threading.Thread(target=launch)
        thread.start()
        thread.join()
    elif how == "spawn":
        launch_as_decided()
    else:
        launch()


if __name__ == "__main__":
    main(sys.argv[1])
