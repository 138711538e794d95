"""Processes that want the same devices: never two hold one, and whoever dies leaves nothing behind."""

from __future__ import annotations

import os
import random
import re
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.launch.lease.conftest import Host, Program

CUDA = "CUDA_VISIBLE_DEVICES"
pytestmark = pytest.mark.once


def shown(answer: dict[str, Any]) -> list[str]:
    """The devices that an answer hands out."""
    return [name for one in answer["variables"] for name in one[CUDA].split(",")]


@pytest.mark.must_hold
def test_of_twelve_processes_eight_have_a_device_each_and_the_others_are_told_who(host: Host) -> None:
    programs = [host.start() for _ in range(12)]
    for program in programs:
        program.tell(do="take", devices="auto")
    answers = [program.heard() for program in programs]
    both = zip(programs, answers, strict=True)
    lucky = [(program.pid, shown(answer)) for program, answer in both if "error" not in answer]
    assert sorted(name for _, names in lucky for name in names) == sorted(one.uuid for one in host.boards)
    refused = [answer for answer in answers if "error" in answer]
    assert len(refused) == 4
    for answer in refused:
        assert answer["kind"] == "LeaseError"
        assert set(answer["holders"]) == {pid for pid, _ in lucky}
        for pid, (name,) in lucky:
            assert re.search(rf"{name} \(place \d\) is leased by pid {pid} \(obedient\.py\)", answer["error"])


@pytest.mark.must_hold
def test_after_random_kills_every_device_can_be_leased_again(host: Host) -> None:
    chance = random.Random(18)
    alive: list[tuple[Program, list[str]]] = []
    for _ in range(6):
        while len(alive) < 8:
            program = host.start()
            alive.append((program, shown(program.ask(do="take", devices="auto"))))
        held = Counter(name for _, names in alive for name in names)
        assert set(held.values()) == {1}
        assert set(held) == {one.uuid for one in host.boards}
        for one in chance.sample(alive, chance.randint(1, 8)):
            one[0].kill()
            alive.remove(one)
    for program, _ in alive:
        program.kill()
    last = host.start().ask(do="take", devices=8, workers=8)
    assert sorted(shown(last)) == sorted(one.uuid for one in host.boards)


@pytest.mark.parametrize("how", ["python", "exec"])
def test_a_child_that_outlives_the_holder_holds_nothing(host: Host, how: str) -> None:
    holder, other = host.start(), host.start()
    assert "error" not in holder.ask(do="take", devices=8)
    child = holder.ask(do="fork", how=how)["pid"]
    try:
        assert other.ask(do="take", devices=1)["holders"] == [holder.pid] * 8
        holder.kill()
        assert len(shown(other.ask(do="take", devices=8))) == 8
    finally:
        os.kill(child, signal.SIGKILL)


def test_a_child_cannot_give_back_what_its_parent_holds(host: Host) -> None:
    holder, other = host.start(), host.start()
    holder.ask(do="take", devices=8)
    answer = holder.ask(do="fork", how="release")
    child = answer["pid"]
    try:
        assert answer["kept"] == 30, "another file had the number of a lock"
        assert other.ask(do="take", devices=1)["kind"] == "LeaseError"
        holder.ask(do="release")
        assert len(shown(other.ask(do="take", devices=8))) == 8
    finally:
        os.kill(child, signal.SIGKILL)


def test_a_lock_that_c_code_left_to_a_child_is_said_to_be_the_childs(host: Host) -> None:
    holder, other = host.start(), host.start()
    holder.ask(do="take", devices=[0])
    child = holder.ask(do="fork", how="c")["pid"]
    try:
        holder.kill()
        said = other.ask(do="take", devices=[0])
        assert f"pid {holder.pid} (obedient.py) since" in said["error"]
        assert re.search(rf"which has ended and left the lock to pid {child} \(python\S*\)", said["error"])
        assert said["holders"] == [child]
    finally:
        os.kill(child, signal.SIGKILL)


def test_a_stopped_holder_of_the_door_stops_nobody(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    from coldfork.launch.devices import locks

    monkeypatch.setattr(locks, "_DOOR_SECONDS", 0.05)
    folder = locks.folder(host.environment)
    with locks.door(folder), locks.door(folder):
        pass


def test_what_is_given_back_leaves_no_descriptor(host: Host) -> None:
    program = host.start()
    before = program.ask(do="count")
    for share in (1, 3):
        for _ in range(3):
            assert "error" not in program.ask(do="take", devices=4, workers=8, share=share)
            assert "error" in program.ask(do="take", devices=8, workers=8)
            program.ask(do="release")
    assert program.ask(do="count") == before


def test_those_who_share_and_those_who_do_not_exclude_each_other(host: Host) -> None:
    one, two, three = host.start(), host.start(), host.start()
    first = one.ask(do="take", devices=[0], workers=2, share=3)
    assert first["variables"] == [{CUDA: host.boards[0].uuid}] * 2
    assert "error" in three.ask(do="take", devices=[0])
    assert "error" not in two.ask(do="take", devices=[0], workers=1, share=3)
    full = three.ask(do="take", devices=[0], workers=1, share=3)
    assert full["kind"] == "LeaseError"
    one.kill()
    assert "error" in three.ask(do="take", devices=[0])
    assert "error" not in three.ask(do="take", devices=[0], workers=2, share=3)
    two.kill()
    three.ask(do="release")
    assert "error" not in three.ask(do="take", devices=[0])


def test_a_home_that_cannot_be_written_is_done_without(host: Host, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.write_text("no folder", encoding="utf-8")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    where = {"COLDFORK_STATE_DIR": str(closed / "state"), "TMPDIR": str(temporary), "XDG_RUNTIME_DIR": ""}
    one, two = host.start(**where), host.start(**where)
    assert "error" not in one.ask(do="take", devices=8)
    assert two.ask(do="take", devices=1)["kind"] == "LeaseError"
    assert any(temporary.rglob("*.lock"))
