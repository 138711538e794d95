"""Whose a line of a stack is: the program's, a framework's, a device library's, or the starter's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from coldfork.diagnose import stacks
from coldfork.diagnose.frameworks import FRAMEWORKS, hosts
from coldfork.diagnose.logs.records import LogFrame
from coldfork.model.diagnosis import Part, Place, Role

_NOWHERE = re.compile(r"^<(?:stdin|string|frozen .*|unknown|__array_function__ .*)>$|^$")
"""No file, and no cell of a notebook or prompt that one could find again."""
_SHIM = re.compile(r"(?:^|/)(?:bin|Scripts)/[^/]+$")
"""A file that a package puts on the path, so that its command can be typed."""
_FEWEST = 2
"""So many libraries in one folder make it a folder of installed packages, whatever it is called."""
_LIBRARIES = frozenset(
    {*stacks.DEVICE_LIBRARIES, *(path.partition("/")[0] for known in FRAMEWORKS for path in known.paths)}
)


def owner(frame: LogFrame, folders: Sequence[str] = ()) -> str | None:
    """The package in which a call stands, installed or a known one's checkout; None for the program's own."""
    path = stacks.joined(frame)
    _, found, inside = path.rpartition("-packages/")
    if found:
        return _top(inside)
    for folder in folders:
        if path.startswith(f"{folder}/") and "/" in path[len(folder) + 1 :]:
            return _top(path[len(folder) + 1 :])
    parts = [part for part in frame.parts if part]
    # In a checkout the package lies below a folder of any name, and most of its modules two deep.
    for index, part in enumerate(parts[:-1]):
        below = parts[index + 1 :]
        if part in _LIBRARIES and (len(below) >= _FEWEST or below == ["__init__.py"] or index == 0):
            return part
    return None


def _top(inside: str) -> str:
    return inside.partition("/")[0].removesuffix(".py")


def package_folders(frames: Sequence[LogFrame]) -> tuple[str, ...]:
    """The folders that hold several known libraries, as PYTHONPATH and `pip --target` make them."""
    found: dict[str, set[str]] = {}
    for frame in frames:
        path = stacks.joined(frame)
        if "-packages/" in path:
            continue
        for name in _LIBRARIES.intersection(frame.parts[1:-1]):
            found.setdefault(path.partition(f"/{name}/")[0], set()).add(name)
    return tuple(folder for folder, names in found.items() if len(names) >= _FEWEST)


def role(frame: LogFrame, folders: Sequence[str] = ()) -> Role | None:
    """The role of one call; None for one that is nobody's: Python's own library, a prompt, a shim."""
    path = stacks.joined(frame)
    if _NOWHERE.match(path) or _SHIM.search(path) or stacks.is_standard(frame):
        return None
    name = owner(frame, folders)
    if name is None:
        return Role.PROGRAM
    return Role.DEVICE if name in stacks.DEVICE_LIBRARIES else Role.FRAMEWORK


def guilty(frames: Sequence[LogFrame]) -> LogFrame | None:
    """The innermost call of the outermost owner below the start of the process; the program's own before all.

    Whoever only runs what it was given (a worker's loop, a launcher) owns nothing below it.
    """
    folders = package_folders(frames)
    below = frames[stacks.boundary(frames) :]
    own = [frame for frame in below if role(frame, folders) is Role.PROGRAM]
    others = [frame for frame in below if role(frame, folders) is Role.FRAMEWORK]
    acting = [frame for frame in others if not hosts(frame)] or others
    if own or not acting:
        return next(reversed(own), None)
    outermost = owner(acting[0], folders)
    return next(frame for frame in reversed(others) if owner(frame, folders) == outermost)


def asking(frames: Sequence[LogFrame]) -> LogFrame | None:
    """The innermost call outside the device's library: the line that asked for the device."""
    folders = package_folders(frames)
    asks = (Role.PROGRAM, Role.FRAMEWORK)
    return next((frame for frame in reversed(frames) if role(frame, folders) in asks), None)


def parts(frames: Sequence[LogFrame]) -> tuple[Part, ...]:
    """One line for each role that a stack shows, the outermost role first."""
    return tuple(_parts(frames))


def _parts(frames: Sequence[LogFrame]) -> Iterator[Part]:
    folders = package_folders(frames)
    start = stacks.starting_call(frames)
    if start is not None:
        yield _part(Role.FORK, start, frames, folders)
    below = frames[stacks.boundary(frames) :]
    for wanted in (Role.PROGRAM, Role.FRAMEWORK):
        found = [frame for frame in below if role(frame, folders) is wanted and not hosts(frame)]
        if found:
            yield _part(wanted, found[-1], frames, folders)
    device = None
    for frame in reversed(below):
        which = role(frame, folders)
        if which not in (None, Role.DEVICE):
            break
        device = frame if which is not None else device
    if device is not None and not hosts(device):
        yield _part(Role.DEVICE, device, frames, folders)


def _part(which: Role, frame: LogFrame, frames: Sequence[LogFrame], folders: Sequence[str]) -> Part:
    call = frame.function if which is Role.DEVICE else stacks.device_call(frames, frame)
    place = Place(frame.path, frame.line, call or None, frame.text)
    return Part(which, place, owner(frame, folders))
