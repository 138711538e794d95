"""A flag that stays false although the driver is awake decides how workers start."""

import multiprocessing
import os

import torch


def choose_method():
    if torch.cuda.is_initialized():
        os.environ["WORKER_METHOD"] = "spawn"
    return os.environ.get("WORKER_METHOD", "fork")


def start(target):
    worker = multiprocessing.get_context(choose_method()).Process(target=target)
    worker.start()
    return worker
