"""The file that `coldfork run` writes: one JSON object a line, readable up to where it was cut.

The first line is the header. Every other line is an event with these keys, and those of its kind below:

    t      seconds since the header's `started`, from a monotonic clock that parent and children share
    pid    the process
    tid    the native thread id
    event  one of the kinds below

`header`   schema_version, tool, started (ISO 8601, UTC), python, platform, command (redacted), cwd, limit,
           device, environment (redacted; only names that matter to accelerators)
`process`  ppid, how ("run", "fork", "spawn", "exec", "subprocess"), command, states: this process begins
`import`   module, path, start, seconds, parent (the module whose load was in progress): one load ended
`wake`     accelerator, level, waker: the keys of `model.states.Waker`; the accelerator became awake
`state`    states: a list of `model.states.State` as objects, at a moment named by `at`
`effect`   kind (a `model.effects.EffectKind`), what, stack: something else that matters happened
`fork`     child (null before it is known), stack, states (in the parent, just before), thread
`spawn`    child, method ("spawn", "forkserver", "subprocess", "posix_spawn"), command, stack, states
`exec`     command, stack, states
`exit`     status, signal, states: this process ends
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
    IMPORT = "import"
    WAKE = "wake"
    STATE = "state"
    EFFECT = "effect"
    FORK = "fork"
    SPAWN = "spawn"
    EXEC = "exec"
    EXIT = "exit"
    CUT = "cut"
    TROUBLE = "trouble"
