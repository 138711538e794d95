"""The C parts are compiled once, by whoever comes first, and never loaded from where others can write."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from coldfork.virtual import compiling
from coldfork.virtual.compiling import CannotCompileError, library

NATIVE = Path(compiling.__file__).with_name("native")
SONAME = "libcuda.so.1"

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the C parts are for Linux"),
]
needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="there is no C compiler"
)


def environment(folder: Path, **more: str) -> dict[str, str]:
    """An environment with a cache of its own and the compilers of this machine."""
    return {"COLDFORK_CACHE_DIR": str(folder), "PATH": os.environ["PATH"], **more}


@needs_compiler
@pytest.mark.parametrize("source", ["driver.c", "management.c"])
def test_the_sources_compile_without_a_warning(tmp_path: Path, source: str) -> None:
    compiler = compiling.compiler()
    assert compiler is not None
    flags = ["-Wall", "-Wextra", "-Werror", "-std=gnu11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden"]
    done = subprocess.run(
        [*compiler, *flags, "-o", str(tmp_path / "out.so"), str(NATIVE / source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@needs_compiler
def test_a_library_is_compiled_once_and_kept(tmp_path: Path) -> None:
    first = library(NATIVE / "driver.c", SONAME, environment(tmp_path))
    made = first.stat().st_mtime_ns
    second = library(NATIVE / "driver.c", SONAME, environment(tmp_path, PATH="", CC="no-such-compiler"))
    assert (second, second.stat().st_mtime_ns) == (first, made)
    assert [path.name for path in first.parent.iterdir()] == [SONAME]


@needs_compiler
def test_other_sources_make_another_library(tmp_path: Path) -> None:
    other = tmp_path / "other.c"
    other.write_text((NATIVE / "driver.c").read_text(encoding="utf-8") + "\n", encoding="utf-8")
    cache = environment(tmp_path / "cache")
    assert library(NATIVE / "driver.c", SONAME, cache) != library(other, SONAME, cache)


@needs_compiler
def test_processes_that_compile_at_once_all_get_a_whole_library(tmp_path: Path) -> None:
    program = (
        "import ctypes; import coldfork.virtual as virtual; device = virtual.install('h100'); "
        "print(device.reason, ctypes.CDLL('libcuda.so.1').cuInit(0))"
    )
    source = Path(compiling.__file__).parents[2]
    started = [
        subprocess.Popen(
            [sys.executable, "-c", program],
            env=environment(tmp_path, PYTHONPATH=str(source)),
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    assert {process.communicate(timeout=120)[0] for process in started} == {"None 0\n"}
    assert not list(tmp_path.rglob(".making-*"))


def test_without_a_compiler_the_reason_is_told(tmp_path: Path) -> None:
    with pytest.raises(CannotCompileError, match=r"no C compiler \(cc, gcc or clang\) on PATH"):
        library(NATIVE / "driver.c", SONAME, environment(tmp_path, PATH=str(tmp_path)))


@needs_compiler
def test_what_a_compiler_complains_of_is_told(tmp_path: Path) -> None:
    broken = tmp_path / "broken.c"
    broken.write_text("#error this cannot be compiled\n", encoding="utf-8")
    with pytest.raises(CannotCompileError, match="this cannot be compiled"):
        library(broken, SONAME, environment(tmp_path / "cache"))
    assert not list((tmp_path / "cache").rglob("*.so*"))


def test_a_folder_that_others_can_write_to_is_not_trusted(tmp_path: Path) -> None:
    cache = environment(tmp_path)
    with pytest.raises(CannotCompileError):
        library(NATIVE / "driver.c", SONAME, environment(tmp_path, PATH=str(tmp_path)))
    (folder,) = (tmp_path / "virtual").iterdir()
    folder.chmod(0o777)
    with pytest.raises(CannotCompileError, match="other users can write to"):
        library(NATIVE / "driver.c", SONAME, cache)


def test_no_folder_at_all_is_a_reason_too() -> None:
    with pytest.raises(CannotCompileError, match="name one with COLDFORK_CACHE_DIR"):
        library(NATIVE / "driver.c", SONAME, {})


def test_the_cache_lies_where_all_of_coldfork_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert compiling._folder("key", {"HOME": str(tmp_path)}) == (
        tmp_path / "Library" / "Caches" / "coldfork" / "virtual" / "key"
    )


@needs_compiler
def test_a_spoilt_library_is_made_anew_by_the_next_process(tmp_path: Path) -> None:
    place = library(NATIVE / "driver.c", SONAME, environment(tmp_path))
    place.write_bytes(b"not a library")
    program = "import coldfork.virtual as virtual; print(virtual.install('h100').reason)"
    source = Path(compiling.__file__).parents[2]
    said = [
        subprocess.run(
            [sys.executable, "-c", program],
            env=environment(tmp_path, PYTHONPATH=str(source)),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    ]
    assert "cannot load" in said[0]
    assert said[1] == "None\n"
