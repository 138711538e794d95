"""Reads stacks: which calls ran in the child, which line imported, and which call touched the device."""

from __future__ import annotations

import re
from collections.abc import Sequence

from coldfork.diagnose.logs.records import LogFrame

_STANDARD = re.compile(
    r"(?:^|/)(?:lib(?:64)?/python3(?:\.\d+)?t?|[Pp]ython3?\d*\.?\d*/[Ll]ib)/(?!site-packages/|dist-packages/)"
    r"|(?:^|/)coldfork/(?:start|observe|launch|virtual)/|^<frozen |^<string>$"
    r"|(?:^|/)(?:multiprocessing|concurrent/futures)/\w+\.py$|(?:^|/)threading\.py$"
)
_INSTALLED = re.compile(r"/(?:site|dist)-packages/")
_IMPORT = re.compile(r"^(?:import|from)(?:\s|$)|\b(?:__import__|import_module|exec_module|load_module)\b")
_BOUNDARIES = (
    ("multiprocessing/process.py", "_bootstrap"),
    ("billiard/process.py", "_bootstrap"),
    ("multiprocess/process.py", "_bootstrap"),
    ("multiprocessing/popen_fork.py", "_launch"),
    ("multiprocess/popen_fork.py", "_launch"),
    ("multiprocessing/forkserver.py", "_serve_one"),
    ("gunicorn/arbiter.py", "spawn_worker"),
)
DEVICE_LIBRARIES = (
    "torch",
    "cupy",
    "numba",
    "pycuda",
    "jax",
    "jaxlib",
    "torch_npu",
    "pynvml",
    "cuda",
    "triton",
    "tensorflow",
    "tensorflow_core",
    "onnxruntime",
    "paddle",
    "pyopencl",
    "torch_xla",
)


def joined(frame: LogFrame) -> str:
    """Return the path with slashes, whatever system wrote it."""
    return "/".join(frame.parts)


def boundary(frames: Sequence[LogFrame]) -> int:
    """Return the index of the child's first call; 0 if the stack does not show the start of the child."""
    for index in range(len(frames) - 1, -1, -1):
        if any(
            joined(frames[index]).endswith(path) and frames[index].function == name
            for path, name in _BOUNDARIES
        ):
            return index + 1
    return 0


def is_standard(frame: LogFrame) -> bool:
    """Return whether the call is in Python's standard library."""
    return _STANDARD.search(joined(frame)) is not None


def is_installed(frame: LogFrame) -> bool:
    """Return whether the call is in an installed package."""
    return _INSTALLED.search(joined(frame)) is not None


def is_spawned_main(frames: Sequence[LogFrame]) -> bool:
    """Return whether a spawned child was importing the program's main module."""
    return any(
        joined(frame).endswith("multiprocessing/spawn.py")
        and frame.function in ("prepare", "_fixup_main_from_path", "_fixup_main_from_name")
        for frame in frames
    )


def starting_call(frames: Sequence[LogFrame]) -> LogFrame | None:
    """Return the parent's line that started the process, if the stack includes it."""
    for index, frame in enumerate(frames):
        path = joined(frame)
        if re.search(
            r"(?:multiprocessing|multiprocess|billiard)/(?:process|context|popen_\w+|pool)\.py$", path
        ) and (frame.function in ("start", "_Popen", "__init__", "_launch", "Pool", "_repopulate_pool")):
            return next((before for before in reversed(frames[:index]) if not is_standard(before)), None)
    return None


def import_site(frames: Sequence[LogFrame]) -> LogFrame | None:
    """Return the line, at module or class level, that imported the module in which the device was touched."""
    first = boundary(frames)
    for index in range(len(frames) - 1, first - 1, -1):
        if _is_at_import(frames, index, first):
            return frames[index]
    return None


def _is_at_import(frames: Sequence[LogFrame], index: int, first: int) -> bool:
    frame = frames[index]
    if joined(frame).startswith("<"):
        return False
    if frame.function == "<module>":
        return _is_imported(frames, index, first)
    return _is_class_body(frames, index, first) and _is_imported(frames, _module_above(frames, index), first)


def _is_imported(frames: Sequence[LogFrame], index: int, first: int) -> bool:
    """Return whether the module was imported; a program's main file is not, because it is run."""
    if index <= first:
        return False
    above = frames[index - 1]
    if above.path.startswith("<frozen importlib"):
        return True
    if "runpy" in joined(above):
        return False
    return not above.text or _IMPORT.search(above.text) is not None


def _is_class_body(frames: Sequence[LogFrame], index: int, first: int) -> bool:
    if index <= first:
        return False
    frame, above = frames[index], frames[index - 1]
    if above.path != frame.path or not (
        above.function == "<module>" or _is_class_body(frames, index - 1, first)
    ):
        return False
    if above.text:
        return above.text.startswith(("class ", "@"))
    return frame.function.lstrip("_")[:1].isupper()


def _module_above(frames: Sequence[LogFrame], index: int) -> int:
    while index > 0 and frames[index].function != "<module>":
        index -= 1
    return index


def device_call(frames: Sequence[LogFrame], site: LogFrame) -> str | None:
    """Return the library function that the given line called to touch the device, as a dotted name."""
    below = list(frames)[list(frames).index(site) + 1 :]
    for frame in below:
        parts = [part for part in frame.parts if part]
        inside = max((index for index, part in enumerate(parts) if part.endswith("-packages")), default=-1)
        starts = [i for i, part in enumerate(parts[:-1]) if part in DEVICE_LIBRARIES and i > inside]
        if starts and frame.function not in ("<module>", ""):
            module = [part.removesuffix(".py") for part in parts[starts[0] :]]
            return ".".join([*(name for name in module if name != "__init__"), frame.function])
    named = next((frame.function for frame in below if frame.function not in ("<module>", "")), None)
    return named.strip("<>") if named else None
