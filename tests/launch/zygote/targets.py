"""The tasks of the tests' workers, which import this module: it imports little itself."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from typing import Any


def square(number: int) -> int:
    return number * number


def tell_pids(answers: Any) -> None:
    above = multiprocessing.parent_process()
    assert above is not None
    answers.put((os.getpid(), os.getppid(), above.pid, above.is_alive()))


def leave(status: int) -> None:
    sys.exit(status)


def wait_for_ever(answers: Any = None) -> None:
    if answers is not None:
        answers.put(os.getpid())
    while True:
        time.sleep(1000)


def add_one(connection: Any) -> None:
    connection.send(connection.recv() + 1)


def start_another(answers: Any, status: int) -> None:
    """A worker's own worker."""
    import coldfork

    context = coldfork.get_context("zygote")
    inner = context.Process(target=tell_pids, args=(answers,))
    inner.start()
    inner.join()
    other = context.Process(target=leave, args=(status,))
    other.start()
    other.join()
    killed = context.Process(target=wait_for_ever)
    killed.start()
    killed.kill()
    killed.join()
    answers.put((inner.pid, inner.exitcode, other.exitcode, killed.exitcode))


def start_and_wait(answers: Any) -> None:
    """A worker with a worker of its own, a subprocess and a forked child, all of which never end."""
    import coldfork

    inner = coldfork.get_context("zygote").Process(target=wait_for_ever)
    inner.start()
    outer = subprocess.Popen([sys.executable, "-c", "import time\nwhile True: time.sleep(1000)"])
    forked = os.fork()
    if forked == 0:
        wait_for_ever()
    answers.put([os.getpid(), inner.pid, outer.pid, forked])
    wait_for_ever()


def tell_variable(answers: Any, name: str) -> None:
    answers.put(os.environ.get(name))


def tell_states(answers: Any) -> None:
    import coldfork

    answers.put([(one.accelerator, str(one.status)) for one in coldfork.state() if one.unsafe_to_fork])


def tell_interrupt(answers: Any) -> None:
    """Whether Control-C raises here."""
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)
        answers.put("nothing")
    except KeyboardInterrupt:
        answers.put("KeyboardInterrupt")


def exhaust(_: object) -> None:
    os._exit(7)


def tell_imported(answers: Any, names: list[str]) -> None:
    answers.put([name for name in names if name in sys.modules])


def tell_of_torch(answers: Any) -> None:
    imported = "torch" in sys.modules
    import torch

    import coldfork

    unsafe = [one.accelerator for one in coldfork.state() if one.unsafe_to_fork]
    answers.send((imported, unsafe, torch.cuda._is_in_bad_fork()))


def fill(tensor: Any) -> None:
    tensor.fill_(7)


def tell_tensor(answers: Any) -> None:
    import torch

    answers.put(torch.arange(4))
    # The tensor's memory is handed over by this process, which has to be there when it is fetched.
    wait_for_ever()


def tell_threads(answers: Any) -> None:
    import threading

    import torch

    np = importlib.import_module("numpy")

    def in_a_thread() -> None:
        found["in a thread"] = torch.get_num_threads()

    found = {"torch": torch.get_num_threads()}
    thread = threading.Thread(target=in_a_thread)
    thread.start()
    thread.join()
    np.ones((300, 300)) @ np.ones((300, 300))
    found["openblas"] = _openblas_threads()
    answers.send(found)


def _openblas_threads() -> int:
    import ctypes
    import re
    from pathlib import Path

    maps = Path("/proc/self/maps").read_text(encoding="utf-8")
    for path in set(re.findall(r"/\S*openblas\S*", maps)):
        library = ctypes.CDLL(path)
        for name in ("scipy_openblas_get_num_threads64_", "openblas_get_num_threads"):
            if hasattr(library, name):
                return int(getattr(library, name)())
    return 0


def tell_random(answers: Any) -> None:
    import random

    import numpy as np
    import torch

    answers.send((random.random(), float(np.random.random()), float(torch.rand(1))))


def tell_devices(answers: Any) -> None:
    answers.send(os.environ.get("CUDA_VISIBLE_DEVICES"))


def compute(answers: Any) -> None:
    import torch

    answers.send(float(torch.ones(4_000_000).sum()))


def start_by_default(answers: Any) -> None:
    """In a process that was spawned: start a worker by the name of the method."""
    process = _by_name("zygote").Process(target=tell_preloaded, args=(answers,))
    process.start()
    process.join()


def tell_preloaded(answers: Any) -> None:
    answers.send((multiprocessing.get_start_method(), "http.client" in sys.modules))


def _by_name(method: str) -> Any:
    return multiprocessing.get_context(method)


def draw_of(answers: Any, module: str) -> None:
    """Draw from the generator that a module holds."""
    answers.put(importlib.import_module(module).Holder.generator.random())


def tell_of(answers: Any, module: str, name: str) -> None:
    answers.put(getattr(importlib.import_module(module), name))
