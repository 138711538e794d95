"""Functions of workers which need not touch the device that their parent holds: what a parent may not be
refused for, however it looks."""

import asyncio
import contextlib
import itertools
import json
import multiprocessing
import os
import queue
import random
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import torch

FORK = multiprocessing.get_context("fork")
BOUND = UPDATED = SET = EXECUTED = "cuda"
TABLE = {"a": 1}
GO, CANCEL = FORK.Event(), FORK.Event()
CANCEL.set()
HELD, FULL = FORK.Lock(), FORK.Semaphore(1)
HELD.acquire()
FULL.acquire()
NEVER, SILENT = FORK.Pipe()
ENDING = FORK.SimpleQueue()
ENDING.put(None)
ENDING.put(None)
EMPTY = FORK.Queue()
TWO = FORK.Barrier(2)
READ, WRITE = os.pipe()

def _touch():
    return torch.zeros(1, device="cuda")

def waits(go):
    go.wait()
    _touch()

def polls(go, cancel):
    while not go.is_set():
        if cancel.is_set():
            return
        time.sleep(0.02)
    _touch()

def walks(jobs):
    for job in jobs:
        if job is None:
            return
    _touch()

def reads(jobs):
    while True:
        job = jobs.get()
        if job is None:
            return
        if job == "touch":
            break
    _touch()

def receives(connection):
    order = connection.recv()
    torch.zeros(1, device=order or "cuda")

def receives_and_ignores(connection):
    connection.recv()
    _touch()

def sleeps():
    time.sleep(60)
    _touch()

def joins_a_thread():
    thread = threading.Thread(target=time.sleep, args=(60,), daemon=True)
    thread.start()
    thread.join()
    _touch()

def takes_a_lock(lock):
    with lock:
        _touch()

def acquires(semaphore):
    semaphore.acquire()
    _touch()

def meets(barrier):
    barrier.wait()
    _touch()

def waits_for_a_global():
    GO.wait()
    _touch()

def takes_a_global_lock():
    HELD.acquire()
    _touch()

def iterates_to_a_sentinel(jobs):
    for _ in iter(jobs.get, None):
        _touch()

def runs_a_program():
    subprocess.run(["sleep", "60"], check=False)
    _touch()

def reads_a_pipe():
    os.read(READ, 1)
    _touch()

def selects():
    select.select([READ], [], [])
    _touch()

def pauses():
    signal.pause()
    _touch()

def accepts():
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.accept()
    _touch()

def waits_for_a_future():
    with ThreadPoolExecutor(1) as pool:
        pool.submit(time.sleep, 60).result()
    _touch()

def sleeps_in_a_loop_of_events():
    asyncio.run(asyncio.sleep(60))
    _touch()

async def _serve():
    await asyncio.Event().wait()
    _touch()

def serves():
    asyncio.run(_serve())

def gives_up_after_three():
    tries = 0
    while tries < 5:
        tries += 1
        if tries > 3:
            return
        time.sleep(0.01)
    _touch()

def counts_down():
    left = 3
    while left:
        left -= 1
        if left == 1:
            sys.exit(0)
    _touch()

def goes_through_states():
    state = "begin"
    while True:
        if state == "begin":
            state = "end"
        elif state == "end":
            return
    _touch()

def seeds_the_cpu():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)

def keeps_no_state():
    with torch.random.fork_rng(enabled=False):
        torch.rand(2)

def chooses_no_device():
    torch.cuda.set_device(-1)

def binds_a_global_by_name():
    globals()["BOUND"] = "cpu"
    torch.zeros(1, device=BOUND)

def updates_globals():
    globals().update(UPDATED="cpu")
    torch.zeros(1, device=UPDATED)

def sets_on_its_module():
    setattr(sys.modules[__name__], "SET", "cpu")
    torch.zeros(1, device=SET)

def executes_text():
    exec("EXECUTED = 'cpu'", globals())
    torch.zeros(1, device=EXECUTED)

def patches_torch():
    with mock.patch("torch.zeros"):
        torch.zeros(1, device="cuda")

def patches_an_attribute():
    with mock.patch.object(torch.cuda, "synchronize"):
        torch.cuda.synchronize()

def replaces_a_function():
    torch.ones = torch.rand
    torch.ones(1)
    torch.zeros = lambda *given, **named: None
    torch.zeros(1, device="cuda")

class Answering:
    device = "cuda"

    def __getattribute__(self, name):
        return "cpu"

def asks_who_answers_all():
    torch.zeros(1, device=Answering().device)

def cannot_read():
    try:
        json.loads("{")
    except ValueError:
        return
    _touch()

def finds_no_number():
    try:
        count = int("none")
    except ValueError:
        count = 0
    if not count:
        return
    _touch()

def misses_a_key():
    try:
        TABLE["b"]
    except KeyError:
        return
    _touch()

def counts_on_without_end():
    for number in itertools.count():
        if number > 3:
            return
    _touch()

def empties_a_list():
    jobs = [1, 2]
    while jobs:
        jobs.pop()
        if not jobs:
            return
    _touch()

def breaks_before_the_end():
    for number in range(3):
        if number == 2:
            break
    else:
        _touch()

def descends(depth=3):
    if depth == 0:
        raise SystemExit
    descends(depth - 1)
    _touch()

def draws_a_number():
    if random.random() < 2:
        return
    _touch()

def watches_its_parent():
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(0.02)
    _touch()

def looks_for_a_file():
    while not os.path.exists("/nonexistent/go"):
        time.sleep(0.02)
    _touch()

class Machine:
    def __init__(self):
        self.running = True
        self.steps = 0

    def step(self):
        self.steps += 1
        if self.steps == 3:
            self.running = False

    def run(self):
        while self.running:
            self.step()
        if self.steps == 3:
            return
        _touch()

def finds_nothing(jobs):
    with contextlib.suppress(queue.Empty):
        jobs.get(timeout=0.05)
        _touch()

def ends_itself():
    os.kill(os.getpid(), signal.SIGTERM)
    _touch()

GIVEN = {
    waits: (GO,), polls: (GO, CANCEL), walks: ([1, None],), reads: (ENDING,), receives: (NEVER,),
    receives_and_ignores: (NEVER,), takes_a_lock: (HELD,), acquires: (FULL,), meets: (TWO,),
    iterates_to_a_sentinel: (ENDING,), finds_nothing: (EMPTY,),
}  # fmt: skip
OBJECTS = {"a machine": Machine().run}
LASTING = {
    "waits", "receives", "receives_and_ignores", "sleeps", "joins_a_thread", "takes_a_lock", "acquires", "meets",
    "waits_for_a_global", "takes_a_global_lock", "runs_a_program", "reads_a_pipe", "selects", "pauses", "accepts",
    "waits_for_a_future", "sleeps_in_a_loop_of_events", "serves", "watches_its_parent", "looks_for_a_file",
}  # fmt: skip
UNCERTAIN = ()
