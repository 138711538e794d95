"""Functions of workers that come to their end by roundabout ways, and never touch the device."""

import collections
import contextlib
import dataclasses
import functools
import heapq
import multiprocessing
import os
import queue
import sys
import threading
import time

import torch
from torch import nn

FORK = multiprocessing.get_context("fork")

INBOX = FORK.Queue()
LOCK = FORK.Lock()
LOCK.acquire()

STOP = FORK.Event()

def _touch():
    return torch.zeros(1, device="cuda")

class Worker:
    retries = 3

    def __init__(self, inbox, device="cuda"):
        self.inbox, self.device, self.done = inbox, device, 0

    def loop(self):
        while True:
            item = self.inbox.get()
            if item is None:
                break
            self.handle(item)
        self.close()

    def handle(self, item):
        torch.zeros(1, device=self.device)

    def close(self):
        torch.cuda.synchronize()

    def once(self):
        try:
            item = self.inbox.get(timeout=0.01)
        except queue.Empty:
            return
        self.handle(item)

    def batch(self):
        items = [self.inbox.get() for _ in range(2)]
        self.handle(items)

    def retry(self):
        for attempt in range(self.retries):
            self.done += 1
            if self.done >= 2:
                sys.exit(0)
        self.handle(None)

    def drain(self):
        for item in iter(self.inbox.get, None):
            self.handle(item)
        self.close()

    def take(self):
        with LOCK:
            self.handle(1)

def times_out():
    end = time.monotonic() + 0.01
    while time.monotonic() < end:
        time.sleep(0.001)
    if time.monotonic() >= end:
        return
    _touch()

def else_not_run():
    try:
        {}["a"]
    except LookupError:
        pass
    else:
        _touch()

def finally_leaves():
    for _ in range(2):
        try:
            _touch()
        finally:
            break

def nested_break():
    for i in range(3):
        for j in range(3):
            if i * j == 1:
                return
    _touch()

def index_walk():
    jobs, i = ["a", "stop", "b"], 0
    while i < len(jobs):
        if jobs[i] == "stop":
            return
        i += 1
    _touch()

def empties_a_heap():
    h = [3, 1, 2]
    heapq.heapify(h)
    while h:
        if heapq.heappop(h) == 2:
            return
    _touch()

def empties_a_queue():
    d = collections.deque([1, None])
    while d:
        if d.popleft() is None:
            return
    _touch()

def string_walk():
    for c in "go;stop":
        if c == ";":
            return
    _touch()

def counts_in_pairs():
    a, b = 0, 1
    while b < 100:
        a, b = b, a + b
        if b == 89:
            return
    _touch()

def gen_close():
    def g():
        yield 1
        _touch()

    for x in g():
        break

def gen_next():
    def g():
        try:
            yield 1
        finally:
            pass
        _touch()

    next(g())

def gen_send():
    def g():
        got = yield
        if got:
            _touch()

    it = g()
    next(it)
    with contextlib.suppress(StopIteration):
        it.send(None)

@dataclasses.dataclass
class Cfg:
    device: str = "cuda"

    def __post_init__(self):
        self.device = "cpu"

def dataclass_post():
    torch.zeros(1, device=Cfg().device)

class Meta(type):
    def __getattribute__(cls, name):
        return "cpu" if name == "device" else super().__getattribute__(name)

class Via(metaclass=Meta):
    device = "cuda"

def meta_attribute():
    torch.zeros(1, device=Via.device)

class Slots:
    __slots__ = ("device",)

    def __init__(self):
        self.device = "cuda"

    def __setattr__(self, n, v):
        object.__setattr__(self, n, "cpu")

def sets_through_its_class():
    torch.zeros(1, device=Slots().device)

class Sub(str):
    def __eq__(self, o):
        return True

    __hash__ = str.__hash__

def odd_equal():
    if Sub("a") == "b":
        return
    _touch()

class Falsy:
    def __bool__(self):
        return False

def is_false():
    if Falsy():
        _touch()

class Len0:
    def __len__(self):
        return 0

def is_empty():
    while Len0():
        _touch()

def del_item():
    jobs = [1, 2, 3]
    del jobs[0]
    if len(jobs) == 2:
        return
    _touch()

def slice_assign():
    jobs = [1, 2]
    jobs[:] = []
    for _ in jobs:
        _touch()

def extends_by_another_name():
    a = []
    b = a
    b += [1]
    if a:
        return
    _touch()

def set_ops():
    s = {1}
    s.discard(1)
    if s:
        _touch()

def locals_trick():
    ns = {}
    exec("device='cpu'", ns)
    torch.zeros(1, device=ns["device"])

def rebinds_a_function():
    global _touch
    _touch = lambda: None
    _touch()

def rebound_method():
    Worker.handle = lambda self, item: None
    Worker(INBOX).handle(1)

def instance_method():
    w = Worker(INBOX)
    w.handle = print
    w.handle(1)

def setattr_dynamic():
    w = Worker(INBOX)
    for n in ("device", "done"):
        setattr(w, n, "cpu")
    w.handle(1)

def dict_update():
    w = Worker(INBOX)
    w.__dict__.update(device="cpu")
    w.handle(1)

def replaced():
    c = dataclasses.replace(Base2(), device="cpu")
    torch.zeros(1, device=c.device)

@dataclasses.dataclass
class Base2:
    device: str = "cuda"

def format_device():
    torch.zeros(1, device="{}".format("cpu"))

def cpu_model():
    m = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    m.train()
    m(torch.ones(1, 2)).sum().backward()
    m.cpu()
    m.to(torch.float64)

def abort_in_thread():
    t = threading.Thread(target=os._exit, args=(0,))
    t.start()
    t.join()
    _touch()

def with_exit():
    @contextlib.contextmanager
    def cm():
        yield
        sys.exit(0)

    with cm():
        pass
    _touch()

def any_all():
    if any(x > 1 for x in (1, 2)):
        return
    _touch()

def leaves_while_sorting():
    def key(x):
        raise SystemExit

    sorted([1, 2], key=key)
    _touch()

def leaves_while_mapping():
    list(map(lambda x: sys.exit(0), [1]))
    _touch()

def partial_exit():
    functools.partial(sys.exit, 0)()
    _touch()

WORKER = Worker(INBOX)
GIVEN = {}
OBJECTS = {name: getattr(WORKER, name) for name in ("loop", "once", "batch", "retry", "drain", "take")}
LASTING = {"loop", "batch", "drain", "take"}
UNCERTAIN = ()
