"""The demonstration of a DataLoader whose workers are forked while the device is awake, and use it."""

from __future__ import annotations

from coldfork.cli.demos import hardware
from coldfork.cli.demos.steps import Command, Demo, Edit, Machine

TRAIN = """\
import torch
from torch.utils.data import DataLoader, Dataset


class Samples(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        torch.cuda.set_device(0)
        return index


def main():
    print("training on", torch.cuda.get_device_name(0))
    for batch in DataLoader(Samples(), num_workers=1, multiprocessing_context="fork"):
        print("batch", batch.tolist())


if __name__ == "__main__":
    main()
"""


def demo(machine: Machine) -> Demo:
    """Return the demonstration; its fix removes the line that uses the device, which reading samples does not
    need.
    """
    return Demo(
        "a training loop whose DataLoader workers crash",
        {"train.py": TRAIN, **hardware.BESIDE_TORCH},
        (
            (
                Command(
                    "check sees that the loop forks workers while the GPU is awake, and that they touch it.",
                    "coldfork check .",
                    1,
                    "3. torch.cuda.set_device         creates a CUDA context",
                ),
                Command(
                    "Run on a virtual H100, it dies with PyTorch's error; the last lines name the cause.",
                    "coldfork run --virtual h100 --exact __main__ train.py",
                    1,
                    hardware.crash(machine),
                ),
            ),
            (
                Edit(
                    "The training loop, not a worker, should move samples to the GPU: delete one line.",
                    "train.py",
                    "        torch.cuda.set_device(0)\n",
                    "",
                ),
            ),
            (
                Command("Now check finds nothing.", "coldfork check .", 0, "no finding on cuda"),
                Command(
                    "And the workers load.",
                    "coldfork run --virtual h100 --quiet train.py",
                    0,
                    "batch [1]",
                ),
            ),
        ),
    )
