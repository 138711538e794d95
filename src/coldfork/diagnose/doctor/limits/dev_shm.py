"""How much shared memory processes may use: the file system at `/dev/shm`.

Workers of a DataLoader pass tensors through it, as do NCCL and vLLM. Containers have 64 MB of it by default,
and a process that needs more is killed by a bus error.

- **ok**: 1 GiB and more, with room left.
- **warn**: less than that.
- **fail**: it is missing, full, or smaller than 32 MiB.
- **skipped**: this is not Linux.
"""

from __future__ import annotations

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.model.diagnosis import Answer, fail, ok, skipped, warn

_ENOUGH = 1 << 30
_FULL = 16 << 20
_REMEDY = (
    "in a container: docker run --shm-size=8g or --ipc=host; in Kubernetes an emptyDir with medium: Memory "
    "at /dev/shm"
)


def examine(facts: Facts) -> Answer:
    """Judge the size and the free space of `/dev/shm`."""
    if not facts.system.is_linux:
        return skipped(f"it is a folder of Linux, and this is {facts.system.platform}")
    space = facts.files.space("/dev/shm")
    if space is None:
        return fail("there is no /dev/shm", "mount a tmpfs there", _REMEDY)
    said = f"{size(space.free)} of {size(space.total)} of shared memory are free"
    if space.total < 2 * _FULL:
        return fail(f"/dev/shm is too small to use: {said}", _REMEDY)
    if space.free < _FULL:
        return fail(
            f"/dev/shm is full: {said}", "ls -l /dev/shm shows what ended processes left there", _REMEDY
        )
    if space.total < _ENOUGH:
        return warn(f"/dev/shm is small: {said}", _REMEDY)
    return ok(said)


def size(count: int) -> str:
    """Return a number of bytes in a readable unit."""
    for unit, name in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:.0f} {name}" if count >= 10 * unit else f"{count / unit:.1f} {name}"
    return f"{count} bytes"
