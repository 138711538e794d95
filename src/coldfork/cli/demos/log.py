"""The demonstration with a log of a crash on another machine."""

from __future__ import annotations

from coldfork.cli.demos.steps import Command, Demo, Machine

LOG = """\
INFO 10:02:11 engine starts with 2 workers
Process ForkProcess-1:
Traceback (most recent call last):
  File "/opt/python/lib/python3.11/multiprocessing/process.py", line 314, in _bootstrap
    self.run()
  File "/opt/python/lib/python3.11/multiprocessing/process.py", line 108, in run
    self._target(*self._args, **self._kwargs)
  File "/srv/engine/worker.py", line 12, in serve
    print(f"worker {rank} serves {config.model} with {backend.kernel()}")
                                                      ^^^^^^^^^^^^^^^^
  File "/srv/engine/attention/flash.py", line 20, in kernel
    return f"flash_fwd_v{flash_version()}"
                         ^^^^^^^^^^^^^^^
  File "/srv/engine/hardware.py", line 10, in compute_capability
    return torch.cuda.get_device_capability()
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/srv/venv/lib/python3.11/site-packages/torch/cuda/__init__.py", line 720, in get_device_capability
    prop = get_device_properties(device)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/srv/venv/lib/python3.11/site-packages/torch/cuda/__init__.py", line 517, in _lazy_init
    raise RuntimeError(
RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use \
the 'spawn' start method
INFO 10:02:12 engine stopped
"""


def demo(_machine: Machine) -> Demo:
    """Return the demonstration: a diagnosis from the log alone, and where to look next."""
    return Demo(
        "a log from a machine that you cannot reach",
        {"crash.log": LOG},
        (
            (
                Command(
                    "explain names the failure, the line where it struck, and what to do about it.",
                    "coldfork explain crash.log",
                    0,
                    "certain[cuda-in-forked-child] CUDA was used in a process forked from one",
                ),
            ),
        ),
    )
