"""Runs the functions of modules for real, in children of a process that holds a device, and judges them.

    python judging.py MODULE...

It prints, for each module and each of its functions, whether a child touches the device in it, and whether that is said to be certain.
"""

import importlib
import inspect
import json
import multiprocessing
import os
import sys
import time

import coldfork.virtual

coldfork.virtual.install("h100")

import torch

from coldfork.observe.forking import bodies, questions
from coldfork.source.bodies.following import NotFound, read_body, read_library
from coldfork.source.bodies.question import Question

FORK = multiprocessing.get_context("fork")
TOUCHED = 77
LIMIT = 100.0


def children(module):
    """The functions that are public in a module, and its objects, each with the arguments it is called with."""
    for name, value in vars(module).items():
        if inspect.isfunction(value) and value.__module__ == module.__name__ and name[0] != "_":
            yield name, value, module.GIVEN.get(value, ())
    for name, thing in module.OBJECTS.items():
        yield name, thing, ()


def run(function, given, entered):
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    os.write(entered, b".")
    try:
        function(*given)
    except RuntimeError as error:
        os._exit(TOUCHED if "initializ" in str(error) else 1)
    finally:
        os._exit(0)


def state(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]


def touches(function, given, lasting):
    """Whether a child that runs this touches the device; one that lasts is ended as soon as it waits."""
    read, write = os.pipe()
    child = FORK.Process(target=run, args=(function, given, write))
    child.start()
    os.close(write)
    end = time.monotonic() + LIMIT
    os.read(read, 1)
    os.close(read)
    while lasting and child.is_alive() and state(child.pid) != "S" and time.monotonic() < end:
        time.sleep(0.005)
    if lasting:
        child.kill()
    child.join(max(0.0, end - time.monotonic()))
    if child.exitcode is None:
        child.kill()
        raise SystemExit(f"{function} does not end")
    return child.exitcode == TOUCHED


def is_certain(function, given, own):
    """Whether the guard would say of a process with this function that it is certain to touch the device."""
    for body in bodies.of_process(FORK.Process(target=function, args=given)):
        question = json.loads(json.dumps(questions.question_of(body)))
        if "library" in question:
            return bool(read_library(**question).touches)
        # To read all of torch takes a second for each.
        for kind in ("modules", "classes"):
            question[kind] = {name: held for name, held in question[kind].items() if name == own}
        try:
            return bool(read_body(Question.read(question)).touches)
        except NotFound:
            return False
    return False


if __name__ == "__main__":
    sys.setrecursionlimit(20_000)
    torch.cuda.init()
    found = {}
    for own in sys.argv[1:]:
        module = importlib.import_module(own)
        found[own] = {}
        for name, function, given in children(module):
            real = touches(function, given, name in module.LASTING)
            certain = is_certain(function, given, own)
            found[own][name] = {"touches": real, "certain": certain, "unseen": name in module.UNCERTAIN}
    json.dump(found, sys.stdout)
