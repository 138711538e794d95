"""A test that wakes the device and forks, run by a launcher that is none of the program's own files."""

from __future__ import annotations

import multiprocessing
import unittest

import torch


def ask() -> None:
    """Ask for the device in a worker."""
    torch.cuda.get_device_name()


class Forks(unittest.TestCase):
    """Runs a worker."""

    def test_fork(self) -> None:
        torch.cuda.get_device_name()
        worker = multiprocessing.get_context("fork").Process(target=ask)
        worker.start()
        worker.join()
        assert worker.exitcode == 0
