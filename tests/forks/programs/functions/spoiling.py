"""More functions of workers which touch the device in every run."""

import abc
import argparse
import contextlib
import copy
import functools
import itertools
import logging
import multiprocessing
import os
import pathlib
import tempfile
import re
import signal
import sys
import warnings
from collections import deque, namedtuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import cuda

FORK = multiprocessing.get_context("fork")
LOG = logging.getLogger("spoiling")
DEVICE = "cuda"
Point = namedtuple("Point", "x device")
POINT = Point(1, "cuda")
OUT = FORK.Queue()
STARTED = FORK.Value("i", 0)
WHERE = pathlib.Path("/tmp")

def uses_a_submodule():
    cuda.synchronize()

def makes_random_numbers():
    torch.randn(2, 2, device="cuda")

def works_with_a_tensor(rank, world):
    data = torch.ones(4)
    data = F.relu(data).cuda()
    print(f"{rank} of {world}", data.shape)

def trains(steps):
    model = torch.nn.Linear(2, 1)
    model.train()
    for step in range(steps):
        LOG.info("step %d", step)
    model.cuda()

def binds_a_rank(rank, queue):
    device = f"cuda:{rank}"
    torch.cuda.set_device(device)
    queue.put(rank)

def counts_itself(started):
    with started.get_lock():
        started.value += 1
    torch.cuda.synchronize()

def signs_in():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.cuda.init()
    torch.cuda.synchronize()

def filters_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
    torch.zeros(1, device=DEVICE)

def uses_numpy():
    rng = np.random.default_rng(0)
    values = rng.random(3)
    torch.from_numpy(values).to("cuda")

def parses_text():
    found = re.match(r"(\w+):(\d)", "cuda:0")
    print(found)
    torch.zeros(1, device=DEVICE)

def has_a_point():
    torch.zeros(1, device=POINT.device)

def makes_a_point():
    point = Point(1, "cuda")
    torch.zeros(point.x, device=point.device)

def looks_at_paths():
    if not WHERE.exists():
        print("missing")
    os.makedirs("/tmp", exist_ok=True)
    torch.zeros(1, device=DEVICE)

def copies_options():
    options = copy.deepcopy({"device": "cuda"})
    print(options)
    torch.zeros(1, device="cuda")

def unrolls():
    left = 5
    seen = []
    while left > 0:
        seen.append(left)
        left -= 2
    if len(seen) == 3:
        torch.zeros(1, device=DEVICE)

def works_until_empty():
    work = deque([1, 2])
    todo = ["cpu", "cuda"]
    while todo:
        torch.zeros(len(work), device=todo.pop())

def goes_through_states():
    state = "begin"
    while True:
        if state == "begin":
            state = "load"
        elif state == "load":
            torch.zeros(1, device="cuda")
            state = "end"
        else:
            return

def breaks_and_goes_on():
    for number in range(5):
        if number == 2:
            break
    torch.zeros(1, device=DEVICE)

def enumerates():
    for index, device in enumerate(("cpu", "cuda")):
        torch.zeros(index + 1, device=device)

def takes_products():
    for size, kind in itertools.product((1, 2), ("cuda",)):
        torch.zeros(size, device=kind)

class Worker(abc.ABC):
    def __init__(self, device):
        self.device = torch.device(device)

    @abc.abstractmethod
    def load(self): ...

    def run(self):
        self.load()
        return self

class Loading(Worker):
    def __init__(self, device="cuda", **options):
        super().__init__(device)
        self.options = dict(options)

    def load(self):
        self.model = torch.nn.Linear(1, 1).to(self.device)

def has_a_worker():
    Loading(size=2).run()

@contextlib.contextmanager
def _timed():
    LOG.debug("begin")
    yield
    LOG.debug("end")

def is_timed():
    with _timed():
        pass
    torch.zeros(1, device=DEVICE)

@functools.lru_cache
def _model():
    return torch.zeros(1).cuda()

def loads_once():
    return _model()

def parses_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    print(parser.prog)
    torch.cuda.get_device_name()

def dispatches():
    work = {"zeros": torch.zeros, "ones": torch.ones}["zeros"]
    work(1, device="cuda")

def has_two_ways(fast):
    device = "cuda:0" if fast else "cuda:1"
    torch.zeros(1, device=device)

def writes_to_streams():
    sys.stdout.write("starting\n")
    sys.stdout.flush()
    sys.stderr.write("starting\n")
    torch.zeros(1, device=DEVICE)

def catches_what_is_raised_before():
    try:
        int("none")
    except ValueError:
        pass
    torch.zeros(1, device=DEVICE)

def has_options(**options):
    options.setdefault("device", "cuda")
    torch.zeros(1, device="cuda", dtype=options.get("dtype"))

def starts_afresh():
    torch.set_default_device("cuda")
    torch.zeros(1)

def has_a_rank(rank):
    if rank < 0 or rank == -1:
        return
    torch.cuda.set_device(rank % 4)

def makes_a_folder(name):
    path = pathlib.Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.zeros(1, device=DEVICE)

GIVEN = {
    has_a_rank: (3,), makes_a_folder: (f"{tempfile.gettempdir()}/coldfork-tests/file",),
    works_with_a_tensor: (0, 2), trains: (2,), binds_a_rank: (1, OUT), counts_itself: (STARTED,),
    has_two_ways: (True,),
}  # fmt: skip
OBJECTS = {
    "a method": Loading().run, "a lambda": lambda: torch.cuda.current_device(),
    "a partial": functools.partial(works_with_a_tensor, 1, world=2),
    "torch's own": torch.cuda.synchronize,
}  # fmt: skip
LASTING = ()
UNCERTAIN = {
    "counts_itself", "has_a_point", "makes_a_point", "works_until_empty", "takes_products", "loads_once",
}  # fmt: skip
"""Certain, and not seen to be; the first takes a lock, which its parent may hold."""
