"""The program that `./dev bench warm` measures: `... warm_program starts|killed ROUNDS MODULE...`

Each worker imports its caller's main module, so that there is little in this one. It prints what it measured
as JSON, a line for each part.
"""

import os
import sys
import time
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

WORKERS = 4
LIMIT = 300.0


def have(modules: "tuple[str, ...]", answers: "Any") -> None:
    """In a worker: import these, say so, and wait to be dismissed."""
    for name in modules:
        import_module(name)
    answers.send((os.getpid(), time.process_time(), all(name in sys.modules for name in modules)))
    answers.poll(None)


def wait_for_ever() -> None:
    """In a worker: end when killed."""
    while True:
        time.sleep(1000)


def start(context: "Any", modules: "tuple[str, ...]") -> "dict[str, float]":
    """One new worker, in seconds."""
    ours, theirs = context.Pipe()
    began, spent = time.perf_counter(), time.process_time()
    process = context.Process(target=have, args=(modules, theirs))
    process.start()
    returned = time.perf_counter() - began
    theirs.close()
    if not ours.poll(LIMIT):
        raise SystemExit("a worker did not answer")
    _, worker, there = ours.recv()
    answered, caller = time.perf_counter() - began, time.process_time() - spent
    if not there:
        raise SystemExit("a worker has not imported what it should")
    ours.close()
    process.join()
    return {"answered": answered, "returned": returned, "caller": caller, "worker": worker}


def memory(context: "Any", modules: "tuple[str, ...]") -> "list[tuple[float, float]]":
    """Return the shared and the own memory of each of several simultaneous workers, in megabytes."""
    pairs = [context.Pipe() for _ in range(WORKERS)]
    processes = [context.Process(target=have, args=(modules, theirs)) for _, theirs in pairs]
    for process in processes:
        process.start()
    found = []
    for pid in [ours.recv()[0] for ours, _ in pairs]:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as rolled:  # noqa: PTH123
            sizes = {words[0]: int(words[1]) for words in map(str.split, list(rolled)[1:])}
        found.append((sizes["Pss:"] / 1024, (sizes["Private_Dirty:"] + sizes["Private_Clean:"]) / 1024))
    for ours, theirs in pairs:
        ours.close()
        theirs.close()
    for process in processes:
        process.join()
    return found


def main(what: str, rounds: int, modules: "tuple[str, ...]") -> None:
    """Measure one thing or the other."""
    import json
    import multiprocessing

    import coldfork

    # What every worker imports on its way to its function, whatever starts it.
    preload = ["multiprocessing.connection", "runpy", *modules]
    began = time.perf_counter()
    zygote = coldfork.zygote(preload).wait()
    ready = time.perf_counter() - began
    if what == "killed":
        processes = [zygote.context.Process(target=wait_for_ever) for _ in range(WORKERS)]
        for process in processes:
            process.start()
        print(json.dumps([zygote.pid, *(process.pid for process in processes)]), flush=True)
        wait_for_ever()
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(preload)
    contexts = {"zygote": zygote.context, "forkserver": server, "spawn": multiprocessing.get_context("spawn")}
    turns = []
    for turn in range(rounds + 1):
        # Each has to follow each other one, whose worker may still be ending.
        order = sorted(contexts, key=lambda name: (list(contexts).index(name) + turn) % len(contexts))
        turns.append({name: start(contexts[name], modules) for name in order})
    # The first of each does not count.
    print(json.dumps({"ready": ready, "turns": turns[1:]}))
    print(json.dumps({name: memory(contexts[name], modules) for name in ("zygote", "forkserver")}))
    zygote.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), tuple(sys.argv[3:]))
