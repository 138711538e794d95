"""Functions of workers which touch the device in every run: a parent that holds it is refused."""

import collections
import contextlib
import dataclasses
import enum
import functools
import json
import logging
import math
import multiprocessing
import os
import random
import threading
import time

import numpy
import torch
from torch import nn

FORK = multiprocessing.get_context("fork")
LOG = logging.getLogger(__name__)
DEVICE = "cuda:0"
CHOSEN = torch.device("cuda", 0)
TABLE = {"fast": "cuda", "slow": "cpu"}
RESULTS = FORK.SimpleQueue()
READY = FORK.Event()

def _touch():
    return torch.zeros(1, device=DEVICE)

def makes_a_tensor():
    torch.tensor([1.0], device="cuda")

def moves_one():
    torch.ones(2).cuda()

def moves_to_a_device():
    torch.ones(2).to(CHOSEN)

def chooses(rank):
    torch.cuda.set_device(rank)

def chooses_the_first():
    torch.cuda.set_device(0)

def chooses_by_name():
    torch.cuda.set_device(DEVICE)

def asks_which():
    return torch.cuda.current_device()

def asks_for_properties():
    return torch.cuda.get_device_properties(0)

def moves_a_model():
    nn.Linear(2, 2).to("cuda")

def makes_a_model():
    nn.Linear(2, 2, device="cuda")

def logs_first():
    LOG.info("starting")
    logging.getLogger("other").warning("still")
    _touch()

def prints_first(rank):
    print("worker", rank, flush=True)
    _touch()

def reports_first(results):
    results.put("ready")
    _touch()

def reports_by_a_global():
    RESULTS.put("ready")
    _touch()

def tells_that_it_runs(ready):
    ready.set()
    _touch()

def goes_round_three_times():
    total = 0
    for number in range(3):
        total += number
    _touch()

def goes_round_a_thousand_times():
    total = 0
    for number in range(1000):
        total += number
    _touch()

def goes_through_a_list():
    for device in ("cpu", "cuda"):
        torch.zeros(1, device=device)

def counts_up():
    tries = 0
    while tries < 3:
        tries += 1
    _touch()

def counts_up_and_touches_then():
    tries = 0
    while True:
        tries += 1
        if tries == 3:
            _touch()

def tries_and_raises():
    try:
        _touch()
    except RuntimeError:
        LOG.exception("failed")
        raise

def sets_a_variable():
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    _touch()

def keeps_no_gradient():
    with torch.no_grad():
        _touch()

def has_a_default():
    with torch.device("cuda"):
        torch.zeros(1)

def keeps_the_state():
    with torch.random.fork_rng():
        torch.rand(2)

def keeps_the_state_of_one():
    with torch.random.fork_rng(devices=[0]):
        torch.rand(2)

def matches(rank):
    match "fast":
        case "fast":
            _touch()
        case _:
            return

def makes_several():
    [torch.zeros(1, device="cuda") for _ in range(2)]

def _several():
    yield torch.zeros(1, device="cuda")

def sums_up():
    list(_several())

class Engine:
    device = "cuda"

    def __init__(self, device=None):
        if device:
            self.device = device

    @property
    def tensor(self):
        return torch.zeros(1, device=self.device)

    @staticmethod
    def choose():
        torch.cuda.set_device(0)

    @classmethod
    def make(cls):
        return torch.zeros(1, device=cls.device)

    def bind(self):
        self.choose()

    def __call__(self):
        return self.tensor

def reads_a_property():
    return Engine().tensor

def makes_by_class():
    Engine.make()

@dataclasses.dataclass
class Settings:
    device: str = "cuda"
    size: int = 4

def has_settings():
    settings = Settings(size=2)
    torch.zeros(settings.size, device=settings.device)

class Kind(enum.Enum):
    CPU = "cpu"
    GPU = "cuda"

def has_a_kind():
    torch.zeros(1, device=Kind.GPU.value)

def writes_the_name():
    number = 0
    torch.zeros(1, device=f"cuda:{number}")

def looks_it_up():
    device = {"fast": "cuda", "slow": "cpu"}["fast"]
    torch.zeros(1, device=device)

def either_way(rank):
    if rank:
        torch.cuda.synchronize()
    else:
        _touch()

def at_last():
    try:
        json.dumps({"a": 1})
    finally:
        _touch()

def expects_another_error():
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.no_grad())
    try:
        _touch()
    except (ValueError, KeyError):
        pass

def prepares_much():
    random.seed(0)
    numpy.random.seed(0)
    began = time.time()
    counts = collections.Counter("abc")
    path = os.path.join("a", "b")
    json.dumps({"path": path, "counts": dict(counts), "root": math.sqrt(2), "began": began})
    threading.current_thread().name = "worker"
    _touch()

def rests_a_moment():
    time.sleep(0.01)
    _touch()

def has_a_deputy():
    functools.partial(torch.zeros, 1, device="cuda")()

def opens_a_stream():
    torch.cuda.Stream()

def asks_for_memory():
    torch.cuda.mem_get_info()

def _retried(function):
    @functools.wraps(function)
    def inner(*given):
        LOG.debug("calling")
        return function(*given)

    return inner

@_retried
def is_wrapped():
    _touch()

def reads_its_arguments(given, *, verbose=False):
    if verbose:
        print(given)
    for key, value in sorted(given.items()):
        print(key, value)
    _touch()

def takes_a_device(device):
    torch.zeros(1, device=device)

def takes_an_engine(engine):
    engine.bind()

GIVEN = {
    chooses: (0,), prints_first: (3,), reports_first: (RESULTS,), tells_that_it_runs: (READY,),
    matches: (1,), either_way: (1,), reads_its_arguments: ({"a": 1},), takes_a_device: ("cuda",),
    takes_an_engine: (Engine(),),
}  # fmt: skip
OBJECTS = {"a method": Engine().bind, "an object": Engine(), "a partial": functools.partial(chooses, 1)}
LASTING = ()
UNCERTAIN = {"is_wrapped"}
"""Certain, and not seen to be."""
