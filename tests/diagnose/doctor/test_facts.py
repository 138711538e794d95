"""The facts that checks are given about real files: packages, libraries, interpreters, the asking process."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.diagnose.doctor.facts.files import FileTree, Space, needed
from coldfork.diagnose.doctor.facts.interpreter import examined, others
from coldfork.diagnose.doctor.facts.machine import facts
from coldfork.diagnose.doctor.facts.packages import InstalledPackages, TorchBuild, waking
from coldfork.launch.devices import answers, management
from coldfork.model.errors import UsageError
from coldfork.model.observations import Origin
from tests.diagnose.doctor.elf import library
from tests.diagnose.doctor.machines import Machine

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ELF and /proc are Linux's")


@linux
def test_the_header_of_a_real_file_says_what_it_links_to() -> None:
    import _ctypes

    names = needed(Path(_ctypes.__file__))
    assert any(name.startswith("libc.so") for name in names)
    assert all(".so" in name for name in names)


@pytest.mark.parametrize(
    ("content", "names"),
    [
        (library("libcudart.so.12", "libc.so.6"), ("libcudart.so.12", "libc.so.6")),
        (library(), ()),
        (b"", ()),
        (b"\x7fELF\x01" + bytes(80), ()),
        (library("libcudart.so.12")[:90], ()),
        (b"#!/bin/sh\n" * 20, ()),
    ],
)
def test_what_is_no_whole_library_needs_nothing(
    content: bytes, names: tuple[str, ...], tmp_path: Path
) -> None:
    file = tmp_path / "x.so"
    file.write_bytes(content)
    assert needed(file) == names
    assert needed(tmp_path / "absent.so") == ()


def test_packages_are_known_from_their_metadata(tmp_path: Path) -> None:
    machine = Machine(tmp_path).package("Flash_Attn", "2.8.3+cu12torch2.8", 'einops; extra == "x"', "torch")
    packages = InstalledPackages(machine.facts.python.folders)
    assert packages.version("flash-attn") == "2.8.3+cu12torch2.8"
    assert packages.requirements("flash-attn") == ['einops; extra == "x"', "torch"]
    assert packages.first("vllm", "flash-attn") == "flash-attn"
    assert packages.first("vllm") is None
    assert packages.requirements("vllm") == []


def test_the_build_of_the_torch_that_is_installed_here_is_read_and_not_imported() -> None:
    torch = pytest.importorskip("torch.version")
    folder = Path(torch.__file__).parents[1]
    seen = Facts(examined(None)).torch if examined(None).folders[:1] == (folder,) else None
    build = seen or TorchBuild(torch.__version__, Path(torch.__file__).read_text(encoding="utf-8"))
    assert build.version == torch.__version__
    assert (build.cuda is None) == (torch.cuda is None)
    assert torch.__version__.startswith(f"{build.minor}.")


def make_environment(prefix: Path, python: str = "python3.12", settings: str | None = None) -> Path:
    site = prefix / "lib" / python / "site-packages"
    site.mkdir(parents=True)
    (prefix / "bin").mkdir()
    (prefix / "bin" / "python").write_text("", encoding="utf-8")
    if settings is not None:
        (prefix / "pyvenv.cfg").write_text(settings, encoding="utf-8")
    return site


def test_an_environment_is_known_from_where_it_lies(tmp_path: Path) -> None:
    site = make_environment(tmp_path / "a", settings="home = /usr/bin\nversion = 3.12.4\n")
    found = examined(tmp_path / "a" / "bin" / "python")
    assert (found.folders, found.origin, found.version) == ((site,), Origin.NAMED, (3, 12, 4))
    assert found.executable == str(tmp_path / "a" / "bin" / "python")
    assert (found.prefix, found.is_own, found.free_threaded) == (tmp_path / "a", False, False)
    make_environment(tmp_path / "b", "python3.14t")
    found = examined(tmp_path / "b")
    assert (found.version, found.free_threaded) == ((3, 14), True)
    assert found.executable == str(tmp_path / "b" / "bin" / "python")


def test_what_is_no_environment_is_refused_without_a_flag_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        examined(tmp_path / "absent")
    (tmp_path / "bare").mkdir()
    with pytest.raises(UsageError, match="there is no folder of packages beside it") as refusal:
        examined(tmp_path / "bare")
    assert "--site-packages" not in str(refusal.value)


def test_the_environment_of_debian_is_found(tmp_path: Path) -> None:
    for place in ("lib/python3/dist-packages", "local/lib/python3.11/dist-packages"):
        (tmp_path / place).mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3.11").write_text("", encoding="utf-8")
    (tmp_path / "bin" / "python3").symlink_to("python3.11")
    found = examined(tmp_path / "bin" / "python3")
    assert (found.version, found.prefix, len(found.folders)) == ((3, 11), tmp_path, 2)


def test_the_interpreters_of_path_are_looked_at_without_being_run(tmp_path: Path) -> None:
    site = make_environment(tmp_path / "a", settings="version = 3.12.4\n")
    names = [one.folders[0] for one in others({"PATH": f"{tmp_path / 'a' / 'bin'}{os.pathsep}{tmp_path}"})]
    assert site in names


def test_files_that_are_not_there_say_nothing(tmp_path: Path) -> None:
    tree = FileTree(tmp_path)
    assert (tree.text("/x"), tree.names("/x"), list(tree.lines("/x"))) == (None, [], [])
    assert (tree.exists("/x"), tree.may_use("/x"), tree.space("/x/y")) == (False, False, None)
    (tmp_path / "x").write_text("a\nb\n", encoding="utf-8")
    assert (list(tree.lines("/x")), tree.may_use("/x"), tree.names("/")) == (["a", "b"], True, ["x"])
    assert isinstance(tree.space("/"), Space)


def test_this_machine_is_what_the_system_says() -> None:
    here = facts(examined(None), touch=False, packages=False)
    assert here.system.platform == sys.platform
    assert here.system.cpus >= 1
    assert here.touch is None
    assert here.waking is None
    if here.system.is_linux:
        import resource

        assert here.system.limits["NOFILE"][0] == resource.getrlimit(resource.RLIMIT_NOFILE)[0]


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "was killed by signal 9"),
        ("raise RuntimeError('no driver')", "failed: RuntimeError: no driver"),
        ("print('hello')", "failed: it printed nothing"),
        ("import time; time.sleep(100)", "did not answer within 1 second"),
    ],
)
def test_a_process_that_does_not_answer_is_an_answer(
    program: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in = tmp_path / "answers.py"
    stand_in.write_text(program, encoding="utf-8")
    monkeypatch.setattr(answers, "__file__", str(stand_in))
    if "sleep" in program:
        monkeypatch.setattr(management, "_SECONDS", 1.0)
    answer = management.management(os.environ)
    assert said in (answer.unanswered or "")


def test_packages_that_wake_a_device_are_read_and_not_imported(tmp_path: Path) -> None:
    machine = (
        Machine(tmp_path)
        .package("waker", "1.0")
        .installed("waker/__init__.py", "from waker import inner\n")
        .installed("waker/inner.py", "import torch\nN = torch.cuda.get_device_name()\n")
        .installed("sleeper/__init__.py", "def f():\n    import torch\n    torch.cuda.init()\n")
        .installed("deep/__init__.py", "")
        .installed("deep/part.py", "import torch\ntorch.cuda.init()\n")
    )
    found = waking(machine.facts.python.folders, (3, 11), None)
    (one,) = found.packages
    assert (one.name, one.accelerator, one.place) == ("waker", "cuda", "waker/inner.py:2")
    assert one.call == "torch.cuda.get_device_name"
    assert found.modules == 5
