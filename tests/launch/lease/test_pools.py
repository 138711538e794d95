"""A pool whose workers each have leased devices."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from coldfork import LeaseError, WorkerDiedError, WorkerPool
from tests.launch.lease.conftest import SECONDS, Host

pytestmark = pytest.mark.once
CRASHES = os.abort
SEEN = "CUDA_VISIBLE_DEVICES"


@pytest.fixture(autouse=True)
def _on_the_host(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SEEN, raising=False)
    for name, value in host.environment.items():
        monkeypatch.setenv(name, value)


def seen_by_each(pool: WorkerPool) -> Counter[str]:
    """Count what each worker of a pool sees, by the processes that say so."""
    said: dict[int, str] = {}
    for _ in range(1000):
        if len(said) == pool.health().warm:
            break
        futures = [pool.submit(os.getenv, SEEN, "nothing") for _ in range(pool.health().warm)]
        for future in futures:
            value = future.result(SECONDS)
            assert future.worker is not None
            said[future.worker] = value
    return Counter(said.values())


def test_each_worker_sees_a_device_that_no_other_has(host: Host) -> None:
    uuids = {board.uuid for board in host.boards}
    with WorkerPool(3, devices="auto") as pool, WorkerPool(5, devices="auto") as other:
        seen = seen_by_each(pool.wait(timeout=SECONDS)) + seen_by_each(other.wait(timeout=SECONDS))
        assert set(seen) == uuids
        assert set(seen.values()) == {1}
        with pytest.raises(LeaseError, match="leased by pid"):
            WorkerPool(1, devices="auto")
    assert SEEN not in os.environ


def test_they_are_free_again_when_it_has_ended(host: Host) -> None:
    for _ in range(2):
        with WorkerPool(8, devices="auto") as pool:
            assert len(seen_by_each(pool.wait(timeout=SECONDS))) == 8


def test_a_new_worker_has_the_device_of_the_one_that_died(host: Host) -> None:
    with WorkerPool(1, devices=[5]) as pool:
        before = pool.submit(os.getenv, SEEN).result(SECONDS)
        died = pool.submit(CRASHES)
        with pytest.raises(WorkerDiedError, match=host.boards[5].uuid):
            died.result(SECONDS)
        error = died.exception()
        assert isinstance(error, WorkerDiedError)
        assert (error.signal, died.device) == ("SIGABRT", error.device)
        assert pool.submit(os.getenv, SEEN).result(SECONDS) == before == host.boards[5].uuid


def test_it_stays_within_what_its_process_sees(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    visible = [host.boards[6].uuid, host.boards[2].uuid]
    monkeypatch.setenv(SEEN, ",".join(visible))
    with WorkerPool(2, devices="auto") as pool:
        assert set(seen_by_each(pool.wait(timeout=SECONDS))) == set(visible)
    with pytest.raises(LeaseError):
        WorkerPool(3, devices="auto")


def test_a_pool_that_cannot_be_opened_keeps_no_device(host: Host) -> None:
    with pytest.raises(TypeError):
        WorkerPool(8, devices="auto", preload=3)  # type: ignore[arg-type]
    with WorkerPool(8, devices="auto") as pool:
        assert pool.wait(timeout=SECONDS).health().warm == 8
