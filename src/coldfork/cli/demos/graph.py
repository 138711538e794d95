"""The demonstration of a CUDA graph that lacks work because its warm-up had already done it."""

from __future__ import annotations

from coldfork.cli.demos.steps import Command, Demo, Edit, Machine

GRAPH = """\
import sys

import torch

from coldfork.graphs import BatchDescriptor, GraphManager, Mode

tokens = torch.zeros(4)
batch = BatchDescriptor(Mode.FULL, 4)


class Metadata:
    plan = None


shared = Metadata()


def attend(hidden, metadata):
    if metadata.plan is None:
        metadata.plan = hidden.cumsum(0)
    return hidden + metadata.plan


def create_forward(descriptor, phase):
    metadata = shared
    return (lambda mode: attend(tokens, metadata)), metadata


manager = GraphManager("cpu", check="error" if "--check" in sys.argv else "off")
try:
    manager.capture(create_forward, [batch], inputs=lambda one: {"hidden": tokens})
except Exception as error:
    sys.exit(str(error))
print("eagerly:", attend(torch.ones(4), Metadata()).tolist())
print("replay: ", manager.replay(batch, hidden=torch.ones(4)).tolist())
"""


def demo(_machine: Machine) -> Demo:
    """Return the demonstration: wrong numbers without an error, the check that finds the line, the fix."""
    return Demo(
        "a CUDA graph whose replay computes the wrong numbers",
        {"graph.py": GRAPH},
        (
            (
                Command(
                    "The plan is made on first use, during the warm-up, so the captured graph lacks that "
                    "work. Its replay gives other numbers than an eager run, and nothing fails.",
                    "python graph.py",
                    0,
                    "replay:  [1.0, 1.0, 1.0, 1.0]",
                ),
                Command(
                    'With check="error" the manager compares the two, and names the line whose '
                    "work is missing.",
                    "python graph.py --check",
                    1,
                    "graph.py:20 in attend",
                ),
            ),
            (
                Edit(
                    "Let each call make its state anew: change one line by hand.",
                    "graph.py",
                    "metadata = shared",
                    "metadata = Metadata()",
                ),
            ),
            (
                Command(
                    "Now the check passes, and both give the same.",
                    "python graph.py --check",
                    0,
                    "replay:  [2.0, 3.0, 4.0, 5.0]",
                ),
            ),
        ),
    )
