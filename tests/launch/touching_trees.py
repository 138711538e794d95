"""Draws trees of processes of which some use a device, and holds a recording of each against what they say.

Each process writes down itself who it is, whether it has woken the device or was refused it, and how those
that it started have ended. coldfork is asked nothing but the recording.

    python -m tests.launch.touching_trees 0 100

runs the trees of these seeds and prints what is false of each.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coldfork.model.states import Status
from coldfork.model.timelines import TOUCHES, Process, Recording
from coldfork.report.recordings.assembly import files
from coldfork.report.recordings.summary.outcomes import Standing, outcome
from tests.launch.sidebyside import coldfork_run, variables

SECONDS = 300
FORKS = ("fork", "thread", "process")
FRESH = ("subprocess", "posix_spawn", "spawn", "forkserver", "shell", "xargs", "exec")
HIDDEN = ("cleared", "isolated", "exec-cleared", "exec-isolated")
EXECS = ("exec", "exec-cleared", "exec-isolated")
ENDS = ("well", "well", "well", "killed", "ended", "at birth")

PROGRAM = """\
import json, multiprocessing, os, shlex, signal, subprocess, sys, threading, time
HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "tree.json")) as stream:
    NODES = json.load(stream)


def say(*words):
    writing = os.open(os.path.join(HERE, "truth.txt"), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(writing, (json.dumps(words) + "\\n").encode())
    os.close(writing)


def said(*words):
    with open(os.path.join(HERE, "truth.txt")) as stream:
        return (json.dumps(words) + "\\n") in stream


def run(number):
    node = NODES[number]
    say("is", number, os.getpid())
    if node["device"] != "none":
        import torch
    if node["device"] in ("uses", "tries"):
        try:
            torch.cuda.init()
            say("woke", number)
        except RuntimeError:
            say("was refused", number)
            if node["device"] == "uses":
                raise
    for child in node["children"]:
        start(child)
    if node["end"] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if node["end"] == "ended":
        say("waits", number)
        while True:
            signal.pause()


def finish(number, pid):
    end(number, pid)
    say("ended", number, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def end(number, pid):
    if NODES[number]["end"] == "at birth":
        os.kill(pid, signal.SIGTERM)
    while NODES[number]["end"] == "ended" and not said("waits", number) and not is_over(pid):
        time.sleep(0.01)
    if NODES[number]["end"] == "ended":
        os.kill(pid, signal.SIGTERM)


def is_over(pid):
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None


def again(number, *options):
    return [sys.executable, *options, os.path.abspath(__file__), str(number)]


def fork(number):
    pid = os.fork()
    if pid == 0:
        run(number)
        os._exit(0)
    finish(number, pid)


def fork_and_execute(number, *options, environment=os.environ):
    pid = os.fork()
    if pid == 0:
        os.execve(sys.executable, again(number, *options), environment)
    finish(number, pid)


def in_thread(number):
    thread = threading.Thread(target=fork, args=(number,))
    thread.start()
    thread.join()


def launch(number, method):
    child = multiprocessing.get_context(method).Process(target=run, args=(number,))
    child.start()
    end(number, child.pid)
    child.join()
    say("ended", number, child.exitcode)


def open_process(number, command, **options):
    child = subprocess.Popen(command, **options)
    end(number, child.pid)
    say("ended", number, child.wait())


def start(number):
    way = NODES[number]["way"]
    if way == "fork":
        fork(number)
    elif way == "thread":
        in_thread(number)
    elif way == "process":
        launch(number, "fork")
    elif way in ("spawn", "forkserver"):
        launch(number, way)
    elif way == "exec":
        fork_and_execute(number)
    elif way == "exec-cleared":
        fork_and_execute(number, environment={})
    elif way == "exec-isolated":
        fork_and_execute(number, "-I")
    elif way == "posix_spawn":
        finish(number, os.posix_spawn(sys.executable, again(number), os.environ))
    elif way == "shell":
        subprocess.run(["sh", "-c", shlex.join(again(number)) + "; true"])
    elif way == "xargs":
        subprocess.run(["xargs", "-I@", *again(number)], input=b"@")
    elif way == "cleared":
        open_process(number, again(number), env={})
    elif way == "isolated":
        open_process(number, again(number, "-I"))
    else:
        open_process(number, again(number))


if __name__ == "__main__":
    run(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
"""


@dataclass
class Node:
    """One process: how it is started, what it does with the device, and how it ends."""

    way: str
    device: str
    """`none`, `loads` (the library only), `uses`, or `tries` (and goes on without)."""
    end: str
    children: list[int] = field(default_factory=list)
    parent: int | None = None


def drawn(seed: int) -> list[Node]:
    """A tree; of the same seed always the same one."""
    draw = random.Random(seed)
    nodes = [Node("run", draw.choice(["none", "loads", "uses"]), "well")]
    for number in range(1, draw.randint(3, 8)):
        # What keeps coldfork out of a process does so for its children, of which nothing can be asked.
        parents = [
            place
            for place, one in enumerate(nodes)
            if one.way not in HIDDEN and one.end in ("well", "killed")
        ]
        parent = draw.choice(parents)
        way = draw.choice([*FORKS * 3, *FRESH, *HIDDEN])
        device = "none" if way in HIDDEN else draw.choice(["none", "none", "loads", "uses", "tries"])
        end = draw.choice(ENDS) if way in FORKS else draw.choice(["well", "well", "killed"])
        nodes.append(Node(way, device, end, parent=parent))
        nodes[parent].children.append(number)
    return nodes


@dataclass
class Truth:
    """The words of the processes of a tree, by their numbers in it."""

    pids: dict[int, int] = field(default_factory=dict)
    woke: set[int] = field(default_factory=set)
    refused: set[int] = field(default_factory=set)
    ends: dict[int, int] = field(default_factory=dict)


def falsehoods(seed: int, folder: Path) -> list[str]:
    """Run a tree under watch; what its recording says that is not so."""
    nodes = drawn(seed)
    plain = [vars(node) for node in nodes]
    (folder / "tree.json").write_text(json.dumps(plain), encoding="utf-8")
    (folder / "tree.py").write_text(PROGRAM, encoding="utf-8")
    recording = folder / "run.coldfork"
    options = ("--virtual", "h100", "--quiet", "--output", str(recording))
    subprocess.run(
        [*coldfork_run(*options), "tree.py"],
        cwd=folder,
        env=variables(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    truth = _told((folder / "truth.txt").read_text(encoding="utf-8"))
    found = files.read(recording)
    said = [one for number in truth.pids for one in _of_process(number, nodes, truth, found)]
    return [*said, *_of_verdict(nodes, truth, found)]


def _told(text: str) -> Truth:
    truth = Truth()
    for what, number, *more in map(json.loads, text.splitlines()):
        if what == "is":
            truth.pids[number] = more[0]
        elif what == "woke":
            truth.woke.add(number)
        elif what == "was refused":
            truth.refused.add(number)
        elif what == "ended":
            truth.ends[number] = more[0]
    return truth


def _of_process(number: int, nodes: list[Node], truth: Truth, found: Recording) -> list[str]:
    node, pid = nodes[number], truth.pids[number]
    name = f"{number} ({node.way}, {node.device}, {node.end}, pid {pid})"
    lives = [process for process in found.processes if process.pid == pid]
    if not lives:
        return [f"{name} is missing"]
    last = lives[-1]
    if node.way in HIDDEN:
        return [] if not last.watched and last.unseen else [f"{name} is not said to be out of sight"]
    wrong = []
    if any(wake.accelerator == "cuda" for wake in last.wakes) != (number in truth.woke):
        wrong.append("its wake")
    if any(one.kind == TOUCHES for one in last.happenings) != (number in truth.refused):
        wrong.append("its touch")
    if _is_poisoned(last) != (node.way in FORKS and _holds_device(node.parent, nodes, truth)):
        wrong.append("its state")
    if number in truth.ends and _ending(last) != truth.ends[number]:
        wrong.append(f"its end, {_ending(last)} and not {truth.ends[number]}")
    parent = _parent(lives[0], found)
    if number and parent is not None and parent.pid != truth.pids[node.parent or 0]:
        wrong.append("its parent")
    if number and parent is None:
        wrong.append("that it has no parent")
    return [f"{name}: {one}" for one in wrong]


def _is_poisoned(process: Process) -> bool:
    state = process.last_states.get("cuda")
    return state is not None and state.status is Status.POISONED


def _holds_device(number: int | None, nodes: list[Node], truth: Truth) -> bool:
    """Whether the device was awake in a process, or in one that it was forked from."""
    if number is None:
        return False
    forked = nodes[number].way in FORKS and _holds_device(nodes[number].parent, nodes, truth)
    return number in truth.woke or forked


def _ending(process: Process) -> int | None:
    return process.status if process.signal is None else -process.signal


def _parent(process: Process, found: Recording) -> Process | None:
    """The process of the tree above this one, past shells, `xargs` and the forkserver."""
    above = process
    while above.parent is not None:
        above = found.processes[above.parent]
        between = above.command[:1] in (("sh",), ("xargs",)) or "forkserver" in " ".join(above.command)
        if not between and above.pid != process.pid:
            return above
    return None


def _of_verdict(nodes: list[Node], truth: Truth, found: Recording) -> list[str]:
    summed_up = outcome(found)
    harmed = {number for number in truth.refused if not _went_on(nodes[number], truth.ends.get(number))}
    hidden = any(nodes[number].way in HIDDEN for number in truth.pids)
    if harmed:
        expected = {Standing.POISONED}
    elif truth.woke:
        expected = {Standing.WOKEN}
    elif hidden:
        expected = {Standing.UNKNOWN}
    elif any(node.end != "well" for node in nodes):
        # Of who is killed the last moments are not known: the library of a virtual device is always loaded.
        expected = {Standing.UNKNOWN, Standing.COLD}
    else:
        expected = {Standing.COLD}
    wrong = []
    if summed_up.standing not in expected:
        doubts = "; ".join(summed_up.doubts)
        wrong.append(f"the verdict is {summed_up.standing.value}, not {sorted(expected)} ({doubts})")
    if {one.pid for one in summed_up.poisoned} != {truth.pids[number] for number in harmed}:
        wrong.append("others are said to be poisoned")
    executed = {truth.pids[number] for number in truth.pids if nodes[number].way in EXECS}
    if not {one.pid for one in summed_up.escaped} <= executed:
        wrong.append("others are said to have executed a program")
    return wrong


def _went_on(node: Node, ended: int | None) -> bool:
    return node.device == "tries" and ended in (0, -15, None)


def main() -> None:
    """Run the trees of several seeds."""
    first, last = map(int, sys.argv[1:3])
    false = 0
    for seed in range(first, last):
        with tempfile.TemporaryDirectory() as folder:
            said: list[Any] = falsehoods(seed, Path(folder))
        false += bool(said)
        print(seed, len(drawn(seed)), *said, sep="\n   " if said else " ", flush=True)
    print(f"{false} of {last - first} trees have something false")


if __name__ == "__main__":
    main()
