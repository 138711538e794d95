"""Build the environment of an isolated script from a table of variables, their values and the reasons.

An entry of `env` overrides the table, and `None` in it removes the variable. A value in the caller's own
environment overrides a row that keeps inherited values.
"""

from __future__ import annotations

import os

from coldfork.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeAlias

    from coldfork.launch.devices.choice import Lease

    #: Positions in the list of devices that the caller sees, identifiers, or a lease.
    Devices: TypeAlias = Sequence[int | str] | str | Lease | None

METHOD = "MULTIPROCESSING_START_METHOD"
METHODS = ("spawn", "forkserver", "fork")


class Row:
    """One variable of the table."""

    def __init__(self, name: str, value: Callable[[str], str], *, keeps_inherited: bool, why: str) -> None:
        self.name = name
        self.value = value
        """Returns the value for a start method."""
        self.keeps_inherited = keeps_inherited
        """Whether a value in the caller's environment is left alone."""
        self.why = why


TABLE = (
    Row(
        METHOD,
        lambda method: method,
        keeps_inherited=False,
        why="the default start method; Python itself ignores it, so it is enforced in every Python that "
        "the script starts",
    ),
    Row(
        "VLLM_WORKER_MULTIPROC_METHOD",
        # vLLM accepts only these two values, and refuses to start with any other.
        lambda method: "fork" if method == "fork" else "spawn",
        keeps_inherited=False,
        why="vLLM forks its workers unless told otherwise; it accepts only spawn and fork, so forkserver "
        "becomes spawn",
    ),
    Row(
        "TOKENIZERS_PARALLELISM",
        lambda _: "false",
        keeps_inherited=True,
        why="the thread pool of tokenizers does not survive a fork, and warns or hangs",
    ),
    Row(
        "COLDFORK_GUARD",
        lambda _: "raise",
        keeps_inherited=True,
        why="turns on the fork guard in the script: a fork that is known to break its child raises an "
        "error that names who woke the device",
    ),
    # MKL, OpenBLAS and numexpr read this variable unless their own are set. Their own are not set here, so
    # that a script that is given another OMP_NUM_THREADS uses that number everywhere.
    Row(
        "OMP_NUM_THREADS",
        lambda _: str(processors()),
        keeps_inherited=True,
        why="as many threads as this process has processors; libraries would count those of the whole "
        "machine",
    ),
)

#: The variables that `inherit_env=False` keeps: those that programs need to start, those that select devices,
#: and those of MPS, without which a script could exceed its caller's share.
KEPT = (
    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
    "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
    "CUDA_MPS_PIPE_DIRECTORY",
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LD_LIBRARY_PATH",
    "LOGNAME",
    "NVIDIA_VISIBLE_DEVICES",
    "PATH",
    "ROCR_VISIBLE_DEVICES",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
)


class ScriptEnvironment:
    """A script's environment, with a record of the variables that coldfork has set or removed."""

    def __init__(
        self, variables: dict[str, str], start_method: str, changed: dict[str, str], removed: tuple[str, ...]
    ) -> None:
        self.variables = variables
        self.start_method = start_method
        self.changed = changed
        """The variables that the table and `env` set."""
        self.removed = removed
        """The variables that `env` removed."""

    def add(self, variables: Mapping[str, str]) -> None:
        """Set additional variables."""
        self.variables.update(variables)
        self.changed.update(variables)


def build(
    start_method: str,
    *,
    devices: Devices = None,
    env: Mapping[str, str | None] | None = None,
    inherit: bool = True,
    base: Mapping[str, str] = os.environ,
) -> ScriptEnvironment:
    """Build the environment of a script."""
    own = _checked(env or {})
    method = known_method(own.get(METHOD) or start_method)
    variables = dict(base) if inherit else {name: base[name] for name in KEPT if name in base}
    changed = {
        row.name: row.value(method) for row in TABLE if not (row.keeps_inherited and row.name in variables)
    }
    changed |= _chosen(devices, own, base)
    changed |= {name: value for name, value in own.items() if value is not None}
    removed = tuple(name for name, value in own.items() if value is None)
    _require_within(own, base)
    variables |= changed
    for name in removed:
        changed.pop(name, None)
        variables.pop(name, None)
    return ScriptEnvironment(variables, method, changed, removed)


def known_method(method: str) -> str:
    """Return the start method; raise an error if there is none with this name."""
    if method not in METHODS:
        import difflib

        near = difflib.get_close_matches(str(method), METHODS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "it is 'spawn', 'forkserver' or 'fork'"
        raise UsageError(f"there is no start method {method!r}; {hint}")
    return method


def processors() -> int:
    """Return the number of processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0)) or 1
    except (AttributeError, OSError):
        return os.cpu_count() or 1


def _checked(env: Mapping[str, Any]) -> dict[str, str | None]:
    for name, value in env.items():
        if not name or "=" in name or "\0" in name:
            raise UsageError(f"{name!r} cannot be the name of an environment variable")
        if not isinstance(value, str | None) or (value and "\0" in value):
            raise UsageError(
                f"the environment variable {name} needs a text as its value, or None to remove it"
            )
    return dict(env)


def _chosen(devices: Devices, own: Mapping[str, str | None], base: Mapping[str, str]) -> dict[str, str]:
    """Return the variable that makes a script see these devices; nothing if no devices were chosen."""
    if devices is None:
        return {}
    from coldfork.launch.devices import choice
    from coldfork.launch.devices.choice import NONE, Lease, listed

    name = choice.variable(base)
    if own.get(name) is not None:
        raise UsageError(f"give devices or {name} in env, not both: they both choose devices")
    if isinstance(devices, Lease):
        return dict(devices.variables)
    wanted = choice.chosen(devices)
    callers = None if name not in base else listed(base[name])
    return {name: ",".join(choice.entry(device, callers, name) for device in wanted) or NONE}


def _require_within(own: Mapping[str, str | None], base: Mapping[str, str]) -> None:
    """Refuse an environment that would let a script see a device hidden from its caller."""
    if own.keys().isdisjoint(base):
        return
    from coldfork.launch.devices import choice
    from coldfork.launch.devices.choice import CUDA, HIP, listed

    for name in (CUDA, HIP):
        if name not in own or name not in base:
            continue
        callers = listed(base[name])
        given = own[name]
        if given is None:
            raise UsageError(
                f"without {name} the script would see devices that this process does not ({base[name]!r})"
            )
        for device in listed(given):
            if not any(choice.same(device, known) for known in callers):
                raise UsageError(
                    f"{name}={given!r} shows the script device {device}, but this process sees no device "
                    f"of that name ({base[name]!r})"
                )
