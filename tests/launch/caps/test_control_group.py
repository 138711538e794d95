"""Where a control group is made, and what is read from it; the files are made up, as few can make real."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from coldfork.launch.supervisor import control_group
from coldfork.launch.supervisor.control_group import ControlGroup, enter

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="control groups exist only on Linux"
)


class Machine:
    """A made-up `/proc` and a made-up hierarchy."""

    def __init__(self, folder: Path, own: str, root: str = "/") -> None:
        self.process = folder / "proc"
        self.hierarchy = folder / "cgroup"
        for name in ("self", "7"):
            (self.process / name).mkdir(parents=True)
        (self.process / "7" / "cgroup").write_text(f"4:memory:/other\n0::{own}\n")
        (self.process / "self" / "mountinfo").write_text(
            "30 23 0:26 / /sys rw - sysfs sysfs rw\n"
            f"31 23 0:27 {root} {self.hierarchy} rw - cgroup2 cgroup rw\n"
        )

    def group(self, path: str, controls: str = "", has: str = "") -> Path:
        """A group that this user may write to."""
        place = self.hierarchy / path
        place.mkdir(parents=True, exist_ok=True)
        (place / "cgroup.procs").touch()
        (place / "cgroup.subtree_control").write_text(controls)
        (place / "cgroup.controllers").write_text(has)
        return place

    def make(self, *, memory: bool) -> ControlGroup | None:
        return control_group.make("mark", 7, memory=memory, process=str(self.process))


def test_it_is_made_in_the_callers_own_group(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "/user/session")
    session = machine.group("user/session")
    group = machine.make(memory=False)
    assert group is not None
    assert group.path == str(session / "coldfork-mark")
    assert group.entrance == str(session / "coldfork-mark" / "cgroup.procs")
    group.remove()
    assert not (session / "coldfork-mark").exists()


def test_where_the_callers_own_has_no_memory_to_share_out_it_is_made_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(tmp_path, "/user/session")
    machine.group("user/session")
    above = machine.group("user", controls="cpu memory pids")
    kernel_makes(monkeypatch, "memory.max")
    group = machine.make(memory=True)
    assert group is not None
    assert group.path == str(above / "coldfork-mark")


def test_memory_that_may_be_shared_out_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(tmp_path, "/service")
    service = machine.group("service", has="cpu memory")
    kernel_makes(monkeypatch, "memory.max")
    assert machine.make(memory=True) is not None
    assert (service / "cgroup.subtree_control").read_text() == "+memory"


def test_without_memory_anywhere_there_is_none(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "/service")
    service = machine.group("service")
    assert machine.make(memory=True) is None
    assert not (service / "coldfork-mark").exists()


def test_a_group_that_got_no_memory_file_is_taken_away_again(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "/service")
    service = machine.group("service", controls="memory")
    assert machine.make(memory=True) is None
    assert not (service / "coldfork-mark").exists()


@pytest.mark.parametrize(
    ("own", "root", "place"),
    [("/docker/7/job", "/docker/7", "job"), ("/docker/7", "/docker/7", "")],
)
def test_a_mount_may_show_a_part_only(tmp_path: Path, own: str, root: str, place: str) -> None:
    machine = Machine(tmp_path, own, root)
    expected = machine.group(place)
    group = machine.make(memory=False)
    assert group is not None
    assert group.path == str(expected / "coldfork-mark")


@pytest.mark.parametrize(
    ("own", "root"), [("/other", "/docker/7"), ("/docker/77", "/docker/7"), ("/../x", "/")]
)
def test_a_group_that_the_mount_does_not_show_is_not_looked_for(tmp_path: Path, own: str, root: str) -> None:
    machine = Machine(tmp_path, own, root)
    machine.group("")
    assert machine.make(memory=False) is None


def test_nobody_known_and_nothing_mounted_is_none(tmp_path: Path) -> None:
    assert control_group.make("mark", 7, memory=False, process=str(tmp_path)) is None


def test_a_group_is_held_to_memory_and_says_what_became_of_it(tmp_path: Path) -> None:
    for name in ("memory.max", "memory.swap.max", "memory.oom.group"):
        (tmp_path / name).touch()
    group = ControlGroup(str(tmp_path))
    assert group.hold_to(2048)
    assert [
        (tmp_path / name).read_text() for name in ("memory.max", "memory.swap.max", "memory.oom.group")
    ] == [
        "2048",
        "0",
        "1",
    ]
    assert (group.kills(), group.memory(), group.seconds(), group.used()) == (0, 0, 0.0, False)
    (tmp_path / "memory.events").write_text("low 0\nhigh 0\nmax 12\noom 1\noom_kill 3\noom_group_kill 1\n")
    (tmp_path / "memory.current").write_text("100\n")
    (tmp_path / "cpu.stat").write_text("usage_usec 1500000\nuser_usec 1\n")
    assert (group.kills(), group.memory(), group.seconds(), group.used()) == (3, 100, 1.5, True)
    (tmp_path / "memory.peak").write_text("2048\n")
    assert group.memory() == 2048


def test_what_the_kernel_refuses_is_no_error(tmp_path: Path) -> None:
    group = ControlGroup(str(tmp_path / "gone"))
    assert not group.hold_to(1)
    enter(group.entrance)
    group.remove()


def kernel_makes(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Have a new group come with a file in it, as the kernel's do."""
    mkdir = os.mkdir

    def made(path: str, *rest: int) -> None:
        mkdir(path, *rest)
        if "coldfork-" in str(path):
            (Path(path) / name).touch()

    monkeypatch.setattr(os, "mkdir", made)
