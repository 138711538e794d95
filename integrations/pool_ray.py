"""The worker pool on Ray, on real local clusters: `./dev integration pool_ray`"""

from __future__ import annotations

import re
import sys

from integrations.environment import Ended, Environment
from integrations.transcript import Transcript, main

ENVIRONMENT = Environment("pool_ray", ("ray==2.60.0", "numpy==2.4.6"))
#: What Ray prints of itself, and of what it has seen to by its own means.
NOISE = (
    r"^\S*\(raylet\)|^    \[|^\t\(\d\)|WARNING (?:authentication|worker)|INFO (?:worker|authentication)"
    r"|^a worker of the pool could|^a task is done again|^the pool's workers ask|^Traceback|^  File|^    \S"
    r"|^\w+Error: |kills, \d+ failed$|^it took|: \d+\.\d+ seconds$|^Exception in thread|PC: @|^    @|SIGTERM"
    r"|^The actor never ran|^\tthe actor's node|^\s+\^+$"
)
VARIABLES = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_COLOR_PREFIX": "0"}
DIFFERING = (
    (r"\bpid \d+", "pid N"),
    (r"\bprocess \d+", "process N"),
    (r"\bon node [\d.]+", "on node ADDRESS"),
    (r"\b[0-9a-f]{32,}\b", "ID"),
)
SAME = "A program that uses a pool as any program does, with `backend="

INTRODUCTION = """
`./dev integration pool_ray` installs Ray 2.60.0 and runs the pool on it: on a cluster of two nodes of which
one is killed, on one that the pool starts by itself, and on one that has no coldfork. The programs are
`integrations/programs/pool_ray_*.py`. The nodes are processes of one machine, started by Ray's own
`ray.cluster_utils.Cluster`; nothing here has crossed a network. The devices are numbers that Ray was told,
and no device was there.
"""


def run() -> Transcript:
    """The same program on both, then the faults, one kind of them at a time."""
    ENVIRONMENT.prepare()
    transcript = Transcript("The worker pool on Ray 2.60.0", INTRODUCTION)
    local = _ran("pool_ray_same", "local")
    transcript.step(f'{SAME}"local"`.', local, r"^a pool in a task: 15$", r"^after the end: RuntimeError$")
    on_ray = _ran("pool_ray_same", "ray")
    transcript.promise(
        'The same program with `backend="ray"` prints the same, line for line.',
        on_ray.status == 0 and on_ray.output == local.output,
    )
    if on_ray.output != local.output:
        print(on_ray.output, file=sys.stderr)
    transcript.step(
        "500 tasks on the workers of two nodes. One node is killed when 100 of them are done; then all of it "
        "once more, with `retries=1`.",
        _ran("pool_ray_node"),
        *_lines_of_a_node(0),
        *_lines_of_a_node(1),
        r"^failed: 0, all of them with nothing$",
        r"^  the worker that ran the task \(pid N on node ADDRESS\) was lost; Ray says: .",
    )
    for program, parts in (("pool_ray_faults", FAULTS), ("pool_ray_ends", ENDS)):
        for part, sentence, needed in parts:
            transcript.step(sentence, _ran(program, part), *needed)
    return transcript


def _lines_of_a_node(retries: int) -> tuple[str, ...]:
    end = (
        rf"^done by \d+ more attempts, which were asked for: {retries}\n"
        r"no task ran oftener than that: True\n"
        r"what has a result ran: True undone: 0\n"
        r"healed: 4 warm; within 30 s: True\n"
        r"and goes on: True$"
    )
    return (
        r"^settled: 500 of 500, each once: True$",
        r"^the node that was killed had done True some of them; nodes: 2$",
        end,
        r"^actors left: 0 Ray is still the caller's: True$",
    )


Part = tuple[str, str, tuple[str, ...]]
"""What a program is told to do, what that is, and what it must print."""

FAULTS: tuple[Part, ...] = (
    (
        "deaths",
        "Workers that die, hang, stand still and are killed.",
        (
            r"^SIGKILL: WorkerDiedError: .*\(its pid: True\)\nwithin a second: True$",
            r"^a segmentation fault: WorkerDiedError: ",
            r"^a hang that holds the GIL: TaskTimeoutError: .*\nwithin a second of the deadline: True$",
            r"^a worker that was stopped: TaskTimeoutError: .*\nand is gone: True$",
            r"^kill: TaskKilledError: .* its child is gone: True$",
            r"^who was beside all this: None$",
            r"^both killed while they had nothing to do: replaced: True$",
            r"^in the end: True 2 warm$",
        ),
    ),
    (
        "kills_at_random",
        "Workers that are killed at any moment.",
        (
            r"^1000 tasks, workers killed at random: each settled once: True$",
            r"^most runs of one task: 1$",
            r"^failed, and not more than were killed: True \{'WorkerDiedError'\}$",
        ),
    ),
    (
        "starts",
        "Workers that cannot be made ready.",
        (
            r"^an initializer that fails: PoolBrokenError: .*\| OSError: no licence for this machine$",
            r"^a preload that fails: PoolBrokenError: .*\| ModuleNotFoundError: .*'no_such_module'$",
            r"^an initializer that ends the worker: PoolBrokenError: ",
            r"^an initializer that cannot be sent: PoolBrokenError: .*TypeError: cannot pickle",
        ),
    ),
    (
        "shares",
        "Devices as Ray deals them out, workers that are replaced, and a task that is tried again.",
        (
            r"^devices: \[\('0', 'GPU 0'\), \('1', 'GPU 1'\)\]$",
            r"^more than there are: PoolError: .* 2 warm, 1 starting$",
            r"^those that are there work: 1$",
            r"^four workers share one: 4 warm 0$",
            r"^six tasks with max_tasks=2: 3 workers; True$",
            r"^retries=1: done by another: True attempts: \['WorkerDiedError'\]$",
        ),
    ),
    (
        "large",
        "What is larger than Ray's object store.",
        (
            r"^400 MB out of a store of 150 MB: 400000000 True$",
            r"^200 MB there and back: True$",
        ),
    ),
    (
        "left",
        "The caller ends Ray under the pool.",
        (
            r"^Ray was shut down: \{'PoolBrokenError: .*Ray was shut down in this process",
            r"^a task after that: PoolBrokenError",
            r"^and Ray was not started again: True$",
        ),
    ),
)
ENDS: tuple[Part, ...] = (
    (
        "mine",
        "Pools where no Ray is.",
        (
            r"^a second pool has ended; Ray is there for the first: True$",
            r"^Ray after the last of them: False workers left: 0$",
            r"^workers, unless told: True$",
            r"^and once more: 2$",
        ),
    ),
    (
        "callers",
        "Pools on the caller's Ray.",
        (
            r"^workers of a cluster with three processors: 3$",
            r"^the caller's Ray after the pool: True kept workers left: 0$",
            r"^kill: \['TaskKilledError', 'cancelled'\] workers left: 0$",
        ),
    ),
    (
        "forgotten",
        "A program that does not end its pool.",
        (r"^done at the end: None$",),
    ),
    (
        "killed",
        "The pool's process is killed, and interrupted, on a cluster that goes on without it.",
        (
            r"^SIGKILL: ended with -9; workers left: 0$",
            r"^SIGINT: ended with -2; workers left: 0$",
        ),
    ),
    (
        "without",
        "A cluster whose nodes have no coldfork.",
        (r"^no worker of the pool can be started: the nodes of the Ray cluster cannot import coldfork; ",),
    ),
)


def _ran(program: str, *arguments: str) -> Ended:
    ended = ENVIRONMENT.watch_program(program, *arguments, variables=VARIABLES, still=90).without(NOISE)
    output = ended.output
    for pattern, name in DIFFERING:
        output = re.sub(pattern, name, output)
    return Ended(ended.status, output)


if __name__ == "__main__":
    sys.exit(main("pool_ray", run))
