"""Generates programs that start processes in every way, and holds a recording of each against the kernel's
truth.

Each process of a tree writes down itself who it is: its number in the tree, its pid, its parent's and the
moment of its start, as /proc tells it. Which line starts it is read off the program's text. Beside it an
observer looks into /proc and asks nobody. coldfork is asked nothing but the recording.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import strategies as st

from coldfork.model.timelines import How, Process, Recording
from coldfork.report.recordings.assembly import files
from tests.launch.sidebyside import coldfork_run, variables

PROGRAM = "tree.py"
TRUTH = "truth.txt"
SECONDS = 300

HEAD = """\
import multiprocessing, os, signal, subprocess, sys, time
HERE = os.path.dirname(os.path.abspath(__file__))
TRUTH = os.path.join(HERE, "truth.txt")


def plant(number):
    with open("/proc/self/stat", "rb") as stream:
        name, _, rest = stream.read().rpartition(b")")
    pid, fields = int(name.split()[0]), rest.split()
    said = f"{number} {pid} {int(fields[1])} {int(fields[19])}\\n".encode()
    writing = os.open(TRUTH, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(writing, said)
    os.close(writing)


def again(number, *options):
    return [sys.executable, *options, os.path.abspath(__file__), str(number)]


def words(number, *options):
    return " ".join(again(number, *options))


def shell(number):
    return f"read -r said < /proc/$$/stat; set -- $said; echo {number} $1 $4 ${{22}} >> {TRUTH}"


def in_pool(number):
    # Who has a task already leaves the other one to somebody else.
    plant(number)
    time.sleep(0.05)


"""
TAIL = """\


if __name__ == "__main__":
    globals()[f"run_{sys.argv[1] if len(sys.argv) > 1 else 0}"]()
"""

#: Every way to start a process: the lines that do it, and where `@N` is the number of the new process, `@M`
#: that of a second one below it, and `@L` marks the line that starts it.
WAYS = {
    "subprocess": ["subprocess.run(again(@N))  # @L"],
    "popen": ["child = subprocess.Popen(again(@N))  # @L", "child.wait()"],
    "posix_spawn": [
        "child = os.posix_spawn(sys.executable, again(@N), os.environ)  # @L",
        "os.waitpid(child, 0)",
    ],
    "spawnv": ["os.spawnv(os.P_WAIT, sys.executable, again(@N))  # @L"],
    "preexec": ["subprocess.run(again(@N), preexec_fn=os.setsid)  # @L"],
    "spawn": [
        "child = multiprocessing.get_context('spawn').Process(target=run_@N)",
        "child.start()  # @L",
        "child.join()",
    ],
    "process": [
        "child = multiprocessing.get_context('fork').Process(target=run_@N)",
        "child.start()  # @L",
        "child.join()",
    ],
    "fork": [
        "child = os.fork()  # @L",
        "if not child:",
        "    run_@N()",
        "    os._exit(3)",
        "os.waitpid(child, 0)",
    ],
    "exec": [
        "child = os.fork()  # @L",
        "if not child:",
        "    os.execv(sys.executable, again(@N))",
        "os.waitpid(child, 0)",
    ],
    "exec-cleared": [
        "child = os.fork()  # @L",
        "if not child:",
        "    os.execve(sys.executable, again(@N), {})",
        "os.waitpid(child, 0)",
    ],
    "exec-isolated": [
        "child = os.fork()  # @L",
        "if not child:",
        "    os.execv(sys.executable, again(@N, '-I'))",
        "os.waitpid(child, 0)",
    ],
    "exec-emptied": [
        "child = os.fork()  # @L",
        "if not child:",
        "    os.execvp('env', ['env', '-i', *again(@N)])",
        "os.waitpid(child, 0)",
    ],
    "shell-exec": ["subprocess.run(['sh', '-c', 'exec ' + words(@N)])  # @L"],
    "shell": ["subprocess.run(['sh', '-c', shell(@N) + '; ' + words(@M) + '; true'])  # @L"],
    "popen-shell": ["os.popen(shell(@N) + '; ' + words(@M) + '; true').close()  # @L"],
    "program": ["subprocess.run(['sh', '-c', shell(@N)])  # @L"],
    "killed": [
        "child = subprocess.Popen(again(@N), stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # @L",
        "child.stdout.readline()",
        "child.kill()",
        "child.communicate()",
    ],
    "killed-fork": [
        "child = os.fork()  # @L",
        "if not child:",
        "    run_@N()",
        "    os.kill(os.getpid(), signal.SIGKILL)",
        "os.waitpid(child, 0)",
    ],
    "xargs": ["subprocess.run(['xargs', '-I@', *again(@N)], input=b'@')  # @L"],
    "system-below": ["os.system('true; ' + words(@N) + '; true')  # @L"],
    "system": ["os.system(words(@N))  # @L"],
    "cleared": ["subprocess.run(again(@N), env={'PATH': '/usr/bin:/bin'})  # @L"],
    "isolated": ["subprocess.run(again(@N, '-I'))  # @L"],
    "emptied": ["subprocess.run(['env', '-i', *again(@N)])  # @L"],
    "forgotten": [
        "subprocess.Popen(['sh', '-c', words(@N) + ' &'])  # @L",
        "time.sleep(0.3)",
    ],
}
#: These keep coldfork out, and all that they start.
HIDING = frozenset({"cleared", "isolated", "emptied", "exec-cleared", "exec-isolated", "exec-emptied"})
#: These have a shell between, which is a process too.
WITH_SHELL = frozenset({"shell", "popen-shell"})
LEAVES = frozenset({"program", "killed", "killed-fork"})


@dataclass(frozen=True)
class Node:
    """One start: how, and what the new process starts in its turn."""

    way: str
    below: tuple[Node, ...] = ()


@dataclass
class Text:
    """The program of a tree, and what has to be in a recording of it."""

    functions: list[str] = field(default_factory=list)
    parents: dict[int, int] = field(default_factory=dict)
    ways: dict[int, str] = field(default_factory=dict)
    hidden: set[int] = field(default_factory=set)
    count: int = 0

    def number(self, parent: int, way: str, *, hidden: bool) -> int:
        """A new process below another one."""
        self.count += 1
        self.parents[self.count], self.ways[self.count] = parent, way
        if hidden:
            self.hidden.add(self.count)
        return self.count

    def write(self, number: int, below: tuple[Node, ...]) -> None:
        """Write a process's program: say which it is, and start those below it."""
        lines = [f"def run_{number}():", f"    plant({number})"]
        if self.ways.get(number) == "killed":
            lines += ["    print('here', flush=True)", "    sys.stdin.read()"]
        for node in below:
            hidden = number in self.hidden
            mine = self.number(number, node.way, hidden=hidden or node.way in HIDING)
            inner = mine
            if node.way in WITH_SHELL:
                inner = self.number(mine, "by-shell", hidden=hidden)
            for line in WAYS[node.way]:
                line = line.replace("@N", str(mine)).replace("@M", str(inner)).replace("@L", f"START {mine}")
                lines.append(f"    {line}")
            if node.way != "program":
                self.write(inner, node.below)
        self.functions.append("\n".join(lines))

    @property
    def program(self) -> str:
        """The program, in one file."""
        return HEAD + "\n\n\n".join(self.functions) + TAIL


def nodes(depth: int) -> st.SearchStrategy[Node]:
    """A start, with others below it."""
    leaf = st.sampled_from(sorted(WAYS)).map(Node)
    if not depth:
        return leaf
    inner = sorted(set(WAYS) - LEAVES)
    several = st.lists(nodes(depth - 1), max_size=2).map(tuple)
    return st.one_of(leaf, st.builds(Node, st.sampled_from(inner), several))


TREES = st.lists(nodes(2), min_size=1, max_size=4).map(tuple)


@dataclass(frozen=True)
class Truth:
    """One process as it told of itself."""

    number: int
    pid: int
    parent: int
    start: int


@dataclass
class Verdict:
    """A recording's verdict on the processes of a tree."""

    right: int = 0
    unknown: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    hidden: int = 0
    out_of_sight: list[str] = field(default_factory=list)


def judged(tree: tuple[Node, ...], folder: Path) -> Verdict:
    """Run a tree under watch, and hold the recording against the truth."""
    text = Text()
    text.write(0, tree)
    (folder / PROGRAM).write_text(text.program, encoding="utf-8")
    (folder / TRUTH).unlink(missing_ok=True)
    recording = folder / "run.coldfork"
    recording.unlink(missing_ok=True)
    command = [*coldfork_run("--follow", "--quiet", "--output", str(recording)), PROGRAM]
    process = subprocess.Popen(command, cwd=folder, env=variables(), stdin=subprocess.DEVNULL)
    observer = Observer(process.pid)
    observer.start()
    assert process.wait(SECONDS) == 0
    observer.stop()
    planted = [Truth(*map(int, line.split())) for line in (folder / TRUTH).read_text().splitlines()]
    found = files.read(recording)
    starts = {
        int(line.rpartition("START ")[2]): number
        for number, line in enumerate(text.program.splitlines(), 1)
        if "# START" in line
    }
    verdict = Verdict()
    for truth in planted:
        _judge(truth, planted, found, text, starts, verdict)
    known = {process.pid for process in found.processes}
    unwatched = {process.pid for process in found.processes if not process.watched}
    for pid, parent in observer.met.items():
        if pid not in known and parent not in unwatched:
            verdict.wrong.append(f"{pid}, below {parent}, was seen in /proc and is not in the recording")
    return verdict


def _judge(
    truth: Truth,
    planted: list[Truth],
    found: Recording,
    text: Text,
    starts: dict[int, int],
    verdict: Verdict,
) -> None:
    way = text.ways.get(truth.number, "run")
    name = f"{truth.number} ({way}, pid {truth.pid})"
    lives = [process for process in found.processes if process.pid == truth.pid]
    if not lives:
        # What a process starts that is not watched is seen if it lives for a moment.
        (verdict.out_of_sight if truth.number in text.hidden else verdict.wrong).append(f"{name} is missing")
        return
    if truth.number not in text.parents:
        verdict.right += 1
        return
    # What a forked process executed is another life of the same process.
    process = next(life for life in lives if life.how is not How.EXEC)
    if truth.number in text.hidden:
        verdict.hidden += 1
        # Below `-I` the environment is whole again, and the next Python is watched.
        last = lives[-1]
        if (way.startswith("exec-") and last.watched) or (not last.watched and not last.unseen):
            verdict.wrong.append(f"{name} could not be watched, and the recording does not say why")
    parent = next((one for one in planted if one.number == text.parents[truth.number]), None)
    above = None if process.parent is None else found.processes[process.parent]
    if above is not None and parent is not None and above.pid != parent.pid and _is_shell(above):
        # The shell that was told to start it.
        process, above = above, None if above.parent is None else found.processes[above.parent]
    if above is None:
        unknown = verdict.out_of_sight if truth.number in text.hidden else verdict.unknown
        unknown.append(f"{name} has no parent")
    elif parent is not None and above.pid != parent.pid:
        verdict.wrong.append(f"{name} stands under {above.pid} {above.command}, not under {parent.pid}")
    elif way == "by-shell" or (parent is not None and parent.number in text.hidden):
        verdict.right += 1
    else:
        _line(truth, process, found, starts, verdict, name)


def _is_shell(process: Process) -> bool:
    return process.command[:1] in {("sh",), ("/bin/sh",), ("xargs",)}


def _line(
    truth: Truth, process: Process, found: Recording, starts: dict[int, int], verdict: Verdict, name: str
) -> None:
    """The line that led to a process is the one that the program's text says."""
    assert process.parent is not None
    above = found.processes[process.parent]
    sites = [going.site for going in above.departures if going.child == process.number]
    if not sites or sites[0] is None:
        verdict.unknown.append(f"{name} has no line")
    elif sites[0].line != starts[truth.number]:
        verdict.wrong.append(
            f"{name} stands on line {sites[0].line}, and line {starts[truth.number]} started it"
        )
    else:
        verdict.right += 1


class Observer:
    """Looks into /proc for all that is below a process, as often as it can."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self.met: dict[int, int] = {}
        """Each process with its parent."""

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.005):
            for program in _children(self._root):
                waiting = [program]
                while waiting:
                    pid = waiting.pop()
                    below = _children(pid)
                    waiting += below
                    # The first child is the program, the other one is coldfork's own and has none.
                    for child in below:
                        self.met.setdefault(child, pid)


def _children(pid: int) -> list[int]:
    try:
        return [
            int(child)
            for task in Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
    except OSError:
        return []


if __name__ == "__main__":
    sys.exit("run by tests/launch/test_trees.py")
