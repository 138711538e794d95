"""The demonstration of an inference engine that wakes the device on import, and then forks a worker."""

from __future__ import annotations

from coldfork.cli.demos import hardware
from coldfork.cli.demos.steps import Command, Demo, Machine

INIT = "from engine.launcher import launch\n"

ATTENTION = """\
from hardware import compute_capability


class FlashAttention:
    version = 3 if compute_capability() >= (9, 0) else 2

    def kernel(self):
        return f"flash_fwd_v{self.version}"
"""

LAUNCHER = """\
import multiprocessing
import sys

from engine.attention import FlashAttention
from hardware import compute_capability


def serve():
    print("the worker runs", FlashAttention().kernel(), "on", compute_capability())


def launch():
    worker = multiprocessing.get_context("fork").Process(target=serve)
    worker.start()
    worker.join()
    sys.exit(worker.exitcode)
"""

SERVE = """\
from engine import launch

if __name__ == "__main__":
    launch()
"""


def demo(machine: Machine) -> Demo:
    """Return the demonstration: the waking line, the crash, the fix and the proof."""
    return Demo(
        "an engine whose worker crashes",
        {
            "engine/__init__.py": INIT,
            "engine/attention.py": ATTENTION,
            "engine/launcher.py": LAUNCHER,
            "serve.py": SERVE,
            **hardware.files(machine),
        },
        (
            (
                Command(
                    "Nothing runs yet: check reads the source. It names the line that wakes the GPU in "
                    "every process that imports the engine, and the fork that breaks because of it.",
                    "coldfork check .",
                    1,
                    "--> engine/attention.py:5  in the body of class FlashAttention",
                ),
                Command(
                    "probe verifies this: it imports the engine in a fresh Python with a virtual H100, "
                    "and sees the same line wake it.",
                    "coldfork probe --virtual h100 engine",
                    1,
                    "--> engine/attention.py:5  in the body of FlashAttention",
                ),
                Command(
                    "Now the crash: the server forks its worker, and the traceback of the worker names "
                    "neither the import nor the line; the report below it does.",
                    "coldfork run --virtual h100 --exact engine.attention serve.py",
                    1,
                    hardware.crash(machine),
                ),
            ),
            (
                Command(
                    "--diff shows a fix. It is called unsafe because the value is then computed on first "
                    "use instead of during the import.",
                    "coldfork check . --fix=unsafe --diff",
                    1,
                    "version = _computed_once(lambda: 3 if compute_capability() >= (9, 0) else 2)",
                ),
            ),
            (
                Command(
                    "Now write the fix; check then reads the files again.",
                    "coldfork check . --fix=unsafe",
                    0,
                    "no finding on cuda",
                ),
            ),
            (
                Command(
                    "The proof, first part: importing the engine leaves the device cold.",
                    "coldfork probe --virtual h100 engine",
                    0,
                    "cold: importing engine leaves every device cold",
                ),
                Command(
                    "The proof, second part: the same server forks the same worker, and the worker works.",
                    "coldfork run --virtual h100 --quiet serve.py",
                    0,
                    "the worker runs flash_fwd_v3 on (9, 0)",
                ),
            ),
        ),
    )
