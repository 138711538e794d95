"""The demonstration of a server that wakes the device and forks afterwards."""

from __future__ import annotations

from dataclasses import replace

from coldfork.cli.demos import hardware
from coldfork.cli.demos.steps import Command, Demo, Edit, Machine

SERVE = """\
import multiprocessing
import sys

from hardware import compute_capability


def answer(request):
    print("request", request, "is answered on", compute_capability())


def main():
    print("the server starts on", compute_capability())
    worker = multiprocessing.get_context("fork").Process(target=answer, args=(1,))
    worker.start()
    worker.join()
    sys.exit(worker.exitcode)


if __name__ == "__main__":
    main()
"""


def demo(machine: Machine) -> Demo:
    """Return the demonstration; its fix changes the start method, because both processes need the device."""
    if machine.driver:
        machine = replace(machine, torch=False)  # a spawned child would have to import torch again
    return Demo(
        "a server that asks the GPU and forks afterwards",
        {"serve.py": SERVE, **hardware.files(machine)},
        (
            (
                Command(
                    "check follows the program from its first line: what wakes the GPU, what forks "
                    "after that, and what the child does with it.",
                    "coldfork check .",
                    1,
                    '--> serve.py:14  by get_context("fork")',
                ),
                Command(
                    "Run on a virtual H100, the child crashes, and the report below its traceback says "
                    "which line had woken the GPU.",
                    "coldfork run --virtual h100 --exact __main__ serve.py",
                    1,
                    hardware.crash(machine),
                ),
            ),
            (
                Edit(
                    "Both processes need the GPU, so the child has to start as a new Python: change "
                    "one word by hand.",
                    "serve.py",
                    'get_context("fork")',
                    'get_context("spawn")',
                ),
            ),
            (
                Command("Now check finds nothing.", "coldfork check .", 0, "no finding on cuda"),
                Command(
                    "And the child works.",
                    "coldfork run --virtual h100 --quiet serve.py",
                    0,
                    "request 1 is answered on (9, 0)",
                ),
            ),
        ),
    )
