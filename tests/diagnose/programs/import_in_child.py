"""The parent wakes the device itself, and the forked worker imports a module whose class body asks for it."""

from __future__ import annotations

import multiprocessing

import torch


def work() -> None:
    """Import the backend where it is needed."""
    import broken_engine.attention.flash  # noqa: F401


def main() -> None:
    """Wake the device, and fork."""
    torch.cuda.get_device_name()
    worker = multiprocessing.get_context("fork").Process(target=work)
    worker.start()
    worker.join()
    raise SystemExit(worker.exitcode)


if __name__ == "__main__":
    main()
