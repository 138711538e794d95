"""More functions of workers which need not touch the device that their parent holds."""
import asyncio
import concurrent.futures
import contextlib
import functools
import multiprocessing
import multiprocessing.connection
import operator
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import types
from unittest import mock

import torch
from torch import nn

FORK = multiprocessing.get_context("fork")
HERE = sys.modules[__name__]
STORED = PATCHED = FROM_CLASS = IN_VARIABLES = "cuda"
FLAGS = {"on": True}
OPTIONS = {"device": "cuda"}
STEPS = [3, 2, 1]
STOP = FORK.Value("b", 1)
CLOSED, OTHER = FORK.Pipe()
JOBS = FORK.JoinableQueue()
CONDITION = FORK.Condition()
BOUNDED = FORK.Queue(1)
BOUNDED.put(1)
IDLE = FORK.Event()

def _touch():
    return torch.zeros(1, device="cuda")

class Channel:
    def __init__(self, connection):
        self.connection = connection
    def next_job(self):
        return self.connection.recv()

def serves_a_channel(channel):
    while (job := channel.next_job()) is not None:
        print(job)
    _touch()

def waits_once(channel):
    channel.next_job()
    _touch()

def waits_for_a_condition(condition):
    with condition:
        condition.wait()
    _touch()

def waits_a_moment(event):
    if not event.wait(0.05):
        return
    _touch()

def waits_in_vain(event):
    event.wait(timeout=30)
    _touch()

def is_told_to_stop(stop):
    while not stop.value:
        time.sleep(0.01)
    if stop.value:
        return
    _touch()

def polls_a_connection(connection):
    while True:
        if connection.poll(0.01):
            break
    _touch()

def selects_connections(connection):
    multiprocessing.connection.wait([connection])
    _touch()

def takes_from_a_queue(jobs):
    try:
        jobs.get_nowait()
    except queue.Empty:
        return
    _touch()

def gets_a_job(jobs):
    job = jobs.get()
    job()
    _touch()

def waits_until_all_is_done(jobs):
    jobs.put(1)
    jobs.join()
    _touch()

def puts_into_a_full_queue(jobs):
    jobs.put(2)
    _touch()

def waits_for_a_child():
    subprocess.Popen(["sleep", "30"]).wait()
    _touch()

def waits_for_a_signal():
    signal.sigwait({signal.SIGUSR1})
    _touch()

def asks_a_pool():
    with concurrent.futures.ThreadPoolExecutor() as pool:
        futures = [pool.submit(threading.Event().wait, 60)]
        for future in concurrent.futures.as_completed(futures):
            future.result()
    _touch()

async def _nothing(event):
    await event.wait()

async def _main():
    await asyncio.gather(_nothing(asyncio.Event()))
    _touch()

def gathers():
    asyncio.run(_main())

def waits_for_a_timer():
    done = threading.Event()
    threading.Timer(60, done.set).start()
    done.wait()
    _touch()

def is_parked():
    threading.Event().wait()
    _touch()

def sleeps_long_in_steps():
    for _ in range(1000):
        time.sleep(0.05)
    _touch()

def pops_until_none():
    stack = ["a", None]
    while True:
        if stack.pop(0) is None:
            return
    _touch()

def takes_turns():
    turn, other = 0, 1
    while turn < 4:
        turn, other = other + 1, turn
        if turn > 2:
            sys.exit()
    _touch()

def appends_until_full():
    found = []
    while len(found) < 3:
        found.append(1)
        if len(found) == 2:
            return
    _touch()

def flips_a_flag():
    going = True
    while going:
        going = not going
        if not going:
            break
    else:
        _touch()

def sets_a_key():
    state = {"left": 2}
    while state["left"]:
        state["left"] -= 1
        if state["left"] == 0:
            return
    _touch()

def counts_in_a_nested_function():
    count = 0
    def one():
        nonlocal count
        count += 1
        return count

    while one() < 5:
        if count == 3:
            return
    _touch()

def changes_a_device_in_a_loop():
    device = "cuda"
    for step in STEPS:
        if step == 1:
            torch.zeros(1, device=device)
        device = "cpu"

def changes_a_device_while_looping():
    device, left = "cuda", 2
    while left:
        left -= 1
        device = "cpu"
    torch.zeros(1, device=device)

def reduces():
    total = functools.reduce(operator.add, [1, 2, 3])
    if total == 6:
        return
    _touch()

def sorts_first():
    if sorted(["b", "a"])[0] == "a":
        return
    _touch()

def stores_a_global():
    HERE.__dict__["STORED"] = "cpu"
    torch.zeros(1, device=STORED)

def patches_its_own():
    with mock.patch(f"{__name__}.PATCHED", "cpu"):
        torch.zeros(1, device=PATCHED)

def binds_in_variables():
    vars(HERE).update({"IN_VARIABLES": "cpu"})
    torch.zeros(1, device=IN_VARIABLES)

class Binder:
    def __setattr__(self, name, value):
        globals()[name] = value

def binds_through_an_object():
    Binder().FROM_CLASS = "cpu"
    torch.zeros(1, device=FROM_CLASS)

@mock.patch("torch.zeros")
def is_patched(zeros):
    torch.zeros(1, device="cuda")

def changes_options():
    OPTIONS["device"] = "cpu"
    torch.zeros(1, **OPTIONS)

def turns_a_flag_off():
    FLAGS.pop("on")
    if FLAGS:
        _touch()

class Swallowing:
    def __enter__(self):
        return self
    def __exit__(self, *error):
        return True

def swallows():
    with Swallowing():
        _touch()

class Constant:
    def __get__(self, owner, kind):
        return "cpu"

class Described:
    device = Constant()

def reads_a_descriptor():
    torch.zeros(1, device=Described().device)

class Base:
    device = "cuda"
    def work(self):
        torch.zeros(1, device=self.device)

class Spare(Base):
    device = "cpu"
    def __getattr__(self, name):
        raise AttributeError(name)

def makes_by_type():
    spare = type("Made", (Base,), {"device": "cpu"})
    spare().work()

def has_a_namespace():
    settings = types.SimpleNamespace(device="cpu")
    torch.zeros(1, device=settings.device)

def stays_on_the_cpu():
    nn.Linear(2, 2, device="cpu").to("cpu")
    torch.ones(1).to(torch.device("cpu")).cpu()
    torch.empty(1, device="meta")

def has_no_device():
    with torch.cuda.device(-1):
        torch.ones(1)

def keeps_other_states():
    with torch.random.fork_rng([], enabled=True), torch.random.fork_rng(()):
        torch.ones(1)

def seeds_all():
    torch.manual_seed(1)
    torch.cuda.manual_seed(1)
    torch.cuda.memory_allocated()
    torch.cuda.empty_cache()

def raises_through():
    def leave():
        raise SystemExit(0)

    try:
        leave()
    except Exception:
        _touch()
    _touch()

def returns_at_last():
    try:
        _touch()
    finally:
        return

def is_shut_down():
    with contextlib.ExitStack() as stack:
        stack.callback(os._exit, 0)
    _touch()

def exits_by_raising_a_signal():
    signal.raise_signal(signal.SIGKILL)
    _touch()

GIVEN = {
    serves_a_channel: (Channel(CLOSED),), waits_once: (Channel(CLOSED),), waits_for_a_condition: (CONDITION,),
    waits_a_moment: (IDLE,), waits_in_vain: (IDLE,), is_told_to_stop: (STOP,), polls_a_connection: (CLOSED,),
    selects_connections: (CLOSED,), takes_from_a_queue: (FORK.Queue(),), gets_a_job: (FORK.Queue(),),
    waits_until_all_is_done: (JOBS,), puts_into_a_full_queue: (BOUNDED,),
}  # fmt: skip
OBJECTS = {"a spare": Spare().work, "a partial": functools.partial(torch.cuda.set_device, -1)}
LASTING = {
    "serves_a_channel", "waits_once", "puts_into_a_full_queue", "waits_for_a_condition", "waits_in_vain", "is_told_to_stop",
    "polls_a_connection", "selects_connections", "gets_a_job", "waits_until_all_is_done", "waits_for_a_child",
    "waits_for_a_signal", "asks_a_pool", "gathers", "waits_for_a_timer", "is_parked", "sleeps_long_in_steps",
}  # fmt: skip
UNCERTAIN = ()
