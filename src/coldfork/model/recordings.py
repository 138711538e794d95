"""The recording that `coldfork run` writes: one JSON object a line, readable even if cut off.

The first line is the header. Every other line is an event with these keys, and those of its kind below:

    t      seconds since the header's `started`, from a monotonic clock that parent and children share
    pid    the process
    tid    the native thread id
    event  one of the kinds below

`header`   schema_version, tool, started (ISO 8601, UTC), python, platform, command (redacted), cwd, limit,
           device, follow (whether children are watched), environment (redacted; only names that matter to
           accelerators)
`process`  ppid, start (in the kernel's ticks; with the pid, it identifies the process), how ("run",
           "fork", "spawn", "exec", "subprocess"), of (the number of the fork in its parent), command,
           ancestors (pid, start and command of each process above it), by (the nearest watched process
           above it), watched, reason (why not), states: this process begins
`seen`     ppid, start, command, python, hidden: a process that did not report itself was there; python
           is the interpreter if it ran one, hidden why that cannot be watched, became whether it had reported
           itself before it became this by `exec`
`import`   module, path, start, seconds, parent (the module whose load was in progress): one load ended
`wake`     accelerator, level, waker: the keys of `model.states.Waker`; the accelerator became awake
`state`    states: a list of `model.states.State` as objects, at a moment named by `at`
`effect`   kind (a `model.effects.EffectKind`, or touches-poisoned for a forked child that used what its
           parent held, named by `what`), what, stack: another event that matters. leaves: of a touch,
           whether its error left there the code that might have caught it; reported again where it does
`fork`     number (counts them in this process), child (null), stack, states (in the parent, just before),
           thread, purpose (a `model.forking.judgement.Purpose`), holds: what the parent held, each with name
           and doubtful
`forked`   number, child and its start: which process that fork led to
`spawn`    child and its start, method ("spawn", "forkserver", "subprocess", "posix_spawn", "system"),
           command, python (the interpreter if it runs one), hidden (why that cannot be watched), stack,
           states
`exec`     command, python and hidden as of `spawn`, stack, states: the process becomes another program,
           unless the same thread reports something else later
`exit`     status, signal, states: this process ends; also reported by its parent, which waited for it,
           and from outside, then with start and without states. python is the interpreter if it ran one at
           its end; begun is false where Python ended before it ran anything of its program
`running`  start: this process was still running when the recording ended
`cut`      reason, dropped: the recording reached its limit; what follows was not written
`trouble`  what, detail: the watcher failed somewhere and went on; never the watched program's fault
"""

from __future__ import annotations

from enum import StrEnum

SCHEMA_VERSION = 1


class EventKind(StrEnum):
    """The kinds of lines in a recording."""

    HEADER = "header"
    PROCESS = "process"
    SEEN = "seen"
    RUNNING = "running"
    IMPORT = "import"
    WAKE = "wake"
    STATE = "state"
    EFFECT = "effect"
    FORK = "fork"
    FORKED = "forked"
    SPAWN = "spawn"
    EXEC = "exec"
    EXIT = "exit"
    CUT = "cut"
    TROUBLE = "trouble"
