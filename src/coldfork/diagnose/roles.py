"""Decides which lines of a stack belong to the program, a framework, a device library or the code that
started the process.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from coldfork.diagnose import stacks
from coldfork.diagnose.frameworks import hosts
from coldfork.diagnose.logs.records import LogFrame
from coldfork.model.diagnosis import Part, Place, Role

_NOWHERE = re.compile(r"^<(?:stdin|string|frozen .*|unknown|__array_function__ .*)>$|^$")
"""The name of code that is neither in a file nor in a cell or prompt that could be found again."""
_SHIM = re.compile(r"(?:^|/)(?:bin|Scripts)/(?:[^/]+(?<!\.py)|[^/]+-script\.py|[^/]+\.exe/__main__\.py)$")
"""A script that a package installs on the path as its command."""
_HOMES = ("home", "Users")
"""Folders in which each folder is named after a person, although Ray's images run everything as `ray`."""
_FEWEST = 2
"""A folder with this many libraries contains installed packages, whatever its name."""
LAYOUTS = Path(__file__).with_name("layouts.json")
"""The contents of known packages' folders, which `tools/signs.py` reads from their wheels."""


@lru_cache(maxsize=1)
def _layouts() -> Mapping[str, frozenset[str]]:
    found = json.loads(LAYOUTS.read_text(encoding="utf-8"))
    return {package: frozenset(names) for package, names in found.items()}


def owner(frame: LogFrame, folders: Sequence[str] = ()) -> str | None:
    """Return the package that contains a call, installed or from a checkout; None for the program's
    own code.
    """
    path = stacks.joined(frame)
    _, found, inside = path.rpartition("-packages/")
    if found:
        return _top(inside)
    for folder in folders:
        if path.startswith(f"{folder}/") and "/" in path[len(folder) + 1 :]:
            return _top(path[len(folder) + 1 :])
    index = _known(frame)
    return None if index is None else frame.parts[index]


def _known(frame: LogFrame) -> int | None:
    """Return the index, in the path, of a known package, recognised by the contents of its wheel."""
    layouts = _layouts()
    above = ""
    for index, (part, below) in enumerate(pairwise(frame.parts)):
        if part in layouts and below.partition(".")[0] in layouts[part] and above not in _HOMES:
            return index
        above = part
    return None


def _top(inside: str) -> str:
    first, _, rest = inside.partition("/")
    return _top(rest) if first.endswith(".egg") and rest else first.removesuffix(".py")


def package_folders(frames: Sequence[LogFrame]) -> tuple[str, ...]:
    """Return folders outside site-packages that contain several known libraries, as `pip --target` makes
    them.
    """
    found: dict[str, set[str]] = {}
    for frame in frames:
        index = None if "-packages/" in stacks.joined(frame) else _known(frame)
        if index:
            found.setdefault("/".join(frame.parts[:index]), set()).add(frame.parts[index])
    return tuple(folder for folder, names in found.items() if len(names) >= _FEWEST)


def role(frame: LogFrame, folders: Sequence[str] = ()) -> Role | None:
    """Return the role of a call; None if it has none, as in the standard library or a shim."""
    path = stacks.joined(frame)
    if _NOWHERE.match(path) or _SHIM.search(path) or stacks.is_standard(frame):
        return None
    name = owner(frame, folders)
    if name is None:
        return Role.PROGRAM
    return Role.DEVICE if name in stacks.DEVICE_LIBRARIES else Role.FRAMEWORK


def guilty(frames: Sequence[LogFrame]) -> LogFrame | None:
    """Return the call to blame: the innermost one of the program or, if there is none, of the outermost
    framework.

    Code that merely runs what it is given, such as a worker's loop or a launcher, is not to blame. If no call
    belongs to the program and the stack ends in the start of a process, the call that starts the process is
    returned.
    """
    folders = package_folders(frames)
    below = frames[stacks.boundary(frames) :]
    own = [frame for frame in below if role(frame, folders) is Role.PROGRAM]
    others = [frame for frame in below if role(frame, folders) is Role.FRAMEWORK]
    acting = [frame for frame in others if not hosts(frame)] or others
    if own or not acting:
        return next(reversed(own), None)
    starting = stacks.starting_call(below)
    if starting in others:
        return starting
    outermost = owner(acting[0], folders)
    return next(frame for frame in reversed(others) if owner(frame, folders) == outermost)


def asking(frames: Sequence[LogFrame]) -> LogFrame | None:
    """Return the innermost call outside the device library: the line that used the device."""
    folders = package_folders(frames)
    asks = (Role.PROGRAM, Role.FRAMEWORK)
    return next((frame for frame in reversed(frames) if role(frame, folders) in asks), None)


def parts(frames: Sequence[LogFrame]) -> tuple[Part, ...]:
    """Return one line of the stack for each role, outermost first."""
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
