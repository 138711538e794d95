"""What a process has of the one that started it and cannot be given later."""

from __future__ import annotations

import os

from coldfork.launch.server.zygote.circumstances import control_groups, rights

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts")


def surroundings() -> dict[str, str]:
    """Those of this process, each under the words for it."""
    return {
        "rights": repr(rights()),
        "control group": os.fsdecode(control_groups()),
        **{f"{name} namespace": _link(f"/proc/self/ns/{name}") for name in _NAMESPACES},
        "root folder": _link("/proc/self/root"),
        "security label": _content("/proc/self/attr/current"),
        "priority when memory runs out": _content("/proc/self/oom_score_adj"),
        "scheduling": repr((os.sched_getscheduler(0), os.sched_getparam(0).sched_priority)),
        "personality": _content("/proc/self/personality"),
    }


def difference(ours: Mapping[str, str], theirs: Mapping[str, str]) -> str | None:
    """The first of these in which two processes differ."""
    return next((name for name in ours if ours[name] != theirs.get(name)), None)


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _content(path: str) -> str:
    try:
        with open(path, "rb") as stream:
            return os.fsdecode(stream.read()).strip("\0\n")
    except OSError:
        return ""
