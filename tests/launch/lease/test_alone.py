"""A lease for one process's own use, and a script that is given one."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import coldfork
from coldfork.model.errors import LeaseError, UsageError
from tests.launch.lease.conftest import SECONDS, Host

CUDA = "CUDA_VISIBLE_DEVICES"


@pytest.fixture
def here(host: Host, monkeypatch: pytest.MonkeyPatch) -> Host:
    """This process is one of the host's."""
    for name, value in host.environment.items():
        monkeypatch.setenv(name, value)
    for name in (CUDA, "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    return host


def test_the_devices_are_given_back_at_the_end_of_the_block(here: Host) -> None:
    for _ in range(2):
        with coldfork.lease([3]) as lease:
            assert lease.variables == {CUDA: here.boards[3].uuid}
            with pytest.raises(coldfork.LeaseError, match="is leased by pid"), coldfork.lease([3]):
                pass
        with pytest.raises(ZeroDivisionError), coldfork.lease(8):
            _ = 1 / 0


def test_nothing_is_no_lease(here: Host) -> None:
    with pytest.raises(UsageError, match="devices=None leases nothing"), coldfork.lease(None):
        pass


def test_a_script_sees_what_was_leased(here: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CUDA, "5,2")
    script = tmp_path / "script.py"
    script.write_text(f"import os; print(os.environ[{CUDA!r}])", encoding="utf-8")
    with coldfork.lease([1]) as lease:
        result = coldfork.run_script(script, devices=lease, check=True)
        assert result.stdout == f"{here.boards[2].uuid}\n"
        with pytest.raises(UsageError, match="both choose devices"):
            coldfork.run_script(script, devices=lease, env={CUDA: "5"})


def test_who_waits_has_the_device_once_its_holder_is_killed(
    here: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder = here.start()
    holder.ask(do="take", devices=8)
    waits, got = threading.Event(), []
    slept = time.sleep

    def sleep(seconds: float) -> None:
        waits.set()
        slept(seconds)

    monkeypatch.setattr(time, "sleep", sleep)

    def take() -> None:
        with coldfork.lease(1, wait=SECONDS) as lease:
            got.append(lease.device)

    waiting = threading.Thread(target=take)
    waiting.start()
    assert waits.wait(SECONDS)
    assert not got
    holder.kill()
    waiting.join(SECONDS)
    assert len(got) == 1


def test_waiting_ends_and_what_cannot_change_is_not_waited_for(
    here: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    with coldfork.lease(8):
        with pytest.raises(LeaseError) as caught, coldfork.lease(1, wait=0.3):
            pass
        assert caught.value.may_pass
    monkeypatch.setenv(CUDA, "")
    with pytest.raises(LeaseError) as caught, coldfork.lease(1, wait=1e9):
        pass
    assert not caught.value.may_pass


def test_the_virtual_device_of_a_process_can_be_leased_in_it(host: Host) -> None:
    program = """
import coldfork
with coldfork.virtual.device("h100", count=3), coldfork.lease(2) as lease:
    print(lease.device)
"""
    unseen = {name: value for name, value in host.environment.items() if name != "LD_LIBRARY_PATH"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=unseen,
        check=True,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    first, second = host.boards[0].uuid, host.boards[1].uuid
    assert done.stdout == f"{first} (place 0), {second} (place 1)\n"


def test_the_error_can_be_pickled() -> None:
    error = LeaseError("who", (1, 2), True)
    again = pickle.loads(pickle.dumps(error))
    assert (again.message, again.holders, again.may_pass, str(again)) == ("who", (1, 2), True, "who")
