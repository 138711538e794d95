"""Compile the C sources when they are first needed, and cache the result."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Mapping
from pathlib import Path

from coldfork.model.folders import user_cache

_FLAGS = ("-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-std=gnu11", "-w")
_SECONDS = 60


class CannotCompileError(Exception):
    """A C source could not be compiled, for the reason in the message; the caller does without it."""


def library(source: Path, soname: str, environment: Mapping[str, str] = os.environ) -> Path:
    """Return the shared library of a C file, from the cache or else compiled now.

    It is named after its SONAME, in a folder named by a hash of everything that it was made from. So versions
    of coldfork do not mix, and a reader finds either the whole file or none.
    """
    if not sys.platform.startswith("linux"):
        raise CannotCompileError(
            f"the C parts of the virtual device are for Linux, but this is {sys.platform}"
        )
    text = source.read_bytes()
    folder = _folder(_key(text, soname), environment)
    place = folder / soname
    if not place.exists():
        _compile(text, soname, place, environment)
    return place


def _key(text: bytes, soname: str) -> str:
    parts = (text, soname.encode(), " ".join(_FLAGS).encode(), platform.machine().encode())
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:24]


def _folder(key: str, environment: Mapping[str, str]) -> Path:
    cache = user_cache(environment, sys.platform)
    if cache is None:
        raise CannotCompileError(
            "there is no folder to keep a compiled library in; name one with COLDFORK_CACHE_DIR"
        )
    folder = Path(cache, "virtual", key)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError as error:
        raise CannotCompileError(f"cannot make {folder}: {error.strerror}") from error
    # Programs load files from this folder, so no other user may be able to write to it.
    if status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise CannotCompileError(f"other users can write to {folder}, so no code is loaded from it")
    return folder


def compiler(environment: Mapping[str, str] = os.environ) -> list[str] | None:
    """Return the command that compiles C: the value of CC, or else cc, gcc or clang."""
    import shlex
    import shutil

    path = environment.get("PATH", os.defpath)
    named = shlex.split(environment.get("CC", ""))
    if named and shutil.which(named[0], path=path):
        return named
    for name in ("cc", "gcc", "clang"):
        if found := shutil.which(name, path=path):
            return [found]
    return None


def _compile(text: bytes, soname: str, place: Path, environment: Mapping[str, str]) -> None:
    import subprocess
    import tempfile

    command = compiler(environment)
    if command is None:
        raise CannotCompileError("there is no C compiler (cc, gcc or clang) on PATH")
    with tempfile.TemporaryDirectory(prefix=".making-", dir=place.parent) as making:
        made = Path(making, soname)
        arguments = [
            *command,
            *_FLAGS,
            f"-Wl,-soname,{soname}",
            "-x",
            "c",
            "-",
            "-o",
            str(made),
            "-ldl",
            "-lpthread",
        ]
        try:
            subprocess.run(
                arguments,
                input=text,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=_SECONDS,
                check=True,
            )
        except subprocess.CalledProcessError as error:
            said = error.stdout.decode(errors="replace").strip().splitlines()
            raise CannotCompileError(
                f"{command[0]} failed: {said[0] if said else error.returncode}"
            ) from error
        except (OSError, subprocess.TimeoutExpired) as error:
            raise CannotCompileError(f"{command[0]} failed: {error}") from error
        # Renamed in one step, because another process may be making or reading the same file.
        made.rename(place)
