"""The next steps for a log that no story explains: the last error, where it comes from, and a command."""

from __future__ import annotations

import re
from pathlib import Path

from coldfork.diagnose import roles, stacks
from coldfork.diagnose.logs.records import Log, LogFrame, LoggedError
from coldfork.model.diagnosis import Evidence, Onward, Place, Role

#: Words in an error that relate to checks of the doctor, with those checks.
_CHECKS = (
    (r"no kernel image is available|not compatible with the current PyTorch installation", "torch driver"),
    (r"lib(?:cudart|cublas\w*|cudnn\w*|nvrtc|cusparse\w*|nccl)\.so[.\d]*: cannot open", "torch library-path"),
    (r"undefined symbol|symbol not found|DLL load failed", "torch torchvision flash-attn xformers"),
    (r"Torch not compiled with CUDA|requires? a? ?CUDA|CUDA_HOME|libcuda\.so", "torch driver"),
    (r"CUDA|cuDNN|CUDNN|CUBLAS|NVML|nvidia|HIP error", "driver torch"),
    (r"NCCL|ProcessGroup|torch\.distributed", "dev-shm visible-devices"),
    (r"No space left on device|/dev/shm|shared memory", "dev-shm"),
    (r"Too many open files", "nofile"),
    (r"Resource temporarily unavailable|can't start new thread|pthread_create failed", "nproc cgroup"),
    (r"Cannot allocate memory|MemoryError|Killed|SIGKILL|signal 9", "cgroup"),
    (r"No module named|cannot import name|ImportError", "python"),
)
_AGAIN = "coldfork explain -- COMMAND"
_WORKER = re.compile(r"worker|engine|rank|process", re.IGNORECASE)


def onward(log: Log) -> Onward | None:
    """Return the next steps; None if the log contains no text."""
    error = _last(log)
    if error is None:
        return _without_error(log)
    call = roles.guilty(error.frames) or roles.asking(error.frames)
    place = (
        None
        if call is None
        else Place(call.path, call.line, stacks.device_call(error.frames, call), call.text)
    )
    said = f"{error.kind}: {error.message}" if error.kind and error.message else error.kind or error.message
    evidence = Evidence(log.name, error.line_number, said or "the traceback breaks off before its error")
    return Onward(evidence, _whose(error, call), place, _next(error, call))


def _without_error(log: Log) -> Onward | None:
    last = next((line for line in reversed(log.lines) if line.text.strip()), None)
    if last is None:
        return None
    evidence = Evidence(log.name, last.number, last.text.strip())
    return Onward(evidence, "no line of the log is an error", None, _advised(last.text) or _AGAIN)


def _last(log: Log) -> LoggedError | None:
    """Return the last error in a log, preferably one that does not just repeat another."""
    errors = [error for error in log.errors if not error.kind.endswith("Warning")]
    own = [error for error in errors if error.frames and error.kind and not _brings_along(error)]
    return next(iter(reversed(own or errors)), None)


def _brings_along(error: LoggedError) -> bool:
    return (
        error.message.startswith("Caught ")
        or re.search(r"See (?:root cause|stack trace)", error.said) is not None
    )


def _whose(error: LoggedError, call: LogFrame | None) -> str:
    if call is None:
        return "the log does not show the line that raised it"
    where = f"{call.path}:{call.line}" if call.line is not None else call.path
    folders = roles.package_folders(error.frames)
    if roles.role(call, folders) is Role.PROGRAM:
        return f"it is the program's own: {where} is its last line on the stack"
    return f"it is {roles.owner(call, folders)}'s: no line of the program is on the stack"


def _next(error: LoggedError, call: LogFrame | None) -> str:
    advised = _advised(f"{error.kind}: {error.said}")
    if advised is not None:
        return advised
    if call is not None and call.path.endswith(".py") and Path(call.path).is_file():
        return f"coldfork check {call.path}"
    if error.header is not None or _WORKER.search(error.speaker.name or "") is not None:
        return "coldfork run --follow PROGRAM"
    return _AGAIN


def _advised(said: str) -> str | None:
    checks = next((checks for pattern, checks in _CHECKS if re.search(pattern, said) is not None), None)
    return None if checks is None else f"coldfork doctor {checks}"
