"""Workers with torch preloaded: tensors in shared memory, data loaders, numbers of threads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("torch")

from coldfork.launch.server.zygote.handle import Zygote, zygote
from tests.launch.zygote import targets
from tests.launch.zygote.conftest import LIMIT


@pytest.fixture(scope="module")
def warm() -> Iterator[Zygote]:
    with zygote(["torch"]) as made:
        yield made


def asked(context: Any, function: Any) -> Any:
    """Return a worker's answer."""
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=function, args=(theirs,))
    process.start()
    theirs.close()
    assert ours.poll(LIMIT)
    answer = ours.recv()
    process.join(LIMIT)
    assert process.exitcode == 0
    return answer


def test_torch_is_there_and_nothing_is_awake_or_poisoned(warm: Zygote) -> None:
    imported, unsafe, in_bad_fork = asked(warm.context, targets.tell_of_torch)
    assert (imported, unsafe, in_bad_fork) == (True, [], False)


def test_a_tensor_is_shared_and_not_copied(warm: Zygote) -> None:
    import torch

    tensor = torch.zeros(3).share_memory_()
    process = warm.context.Process(target=targets.fill, args=(tensor,))
    process.start()
    process.join(LIMIT)
    assert process.exitcode == 0
    assert tensor.tolist() == [7.0, 7.0, 7.0]


def test_torch_s_own_processes_and_queues(warm: Zygote) -> None:
    import torch
    import torch.multiprocessing as torch_multiprocessing

    context = torch_multiprocessing.get_context("zygote")
    answers = context.Queue()
    process = context.Process(target=targets.tell_tensor, args=(answers,))
    process.start()
    assert torch.equal(answers.get(timeout=LIMIT), torch.arange(4))
    process.terminate()
    process.join(LIMIT)


def test_a_data_loader_takes_the_context(warm: Zygote) -> None:
    import torch
    from torch.utils.data import DataLoader

    loader = DataLoader(
        torch.arange(6),
        batch_size=2,
        num_workers=2,
        multiprocessing_context=warm.context,
    )
    assert [batch.tolist() for batch in loader] == [[0, 1], [2, 3], [4, 5]]


@pytest.mark.parametrize("threads", [None, "1", "3"])
def test_pools_have_as_many_threads_as_with_spawn(
    warm: Zygote, monkeypatch: pytest.MonkeyPatch, threads: str | None
) -> None:
    import multiprocessing

    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    if threads is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
    ours = asked(warm.context, targets.tell_threads)
    assert ours == asked(multiprocessing.get_context("spawn"), targets.tell_threads)
    most = len(os.sched_getaffinity(0))
    assert ours["torch"] == (most if threads is None else min(most, int(threads)))


def test_each_worker_has_random_numbers_of_its_own(warm: Zygote) -> None:
    drawn = [asked(warm.context, targets.tell_random) for _ in range(2)]
    for one, other in zip(*drawn, strict=True):
        assert one != other


def test_each_worker_has_devices_of_its_own(warm: Zygote, monkeypatch: pytest.MonkeyPatch) -> None:
    server = warm.wait(LIMIT).pid
    for devices in ("0", "1", "GPU-2,GPU-3"):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", devices)
        assert asked(warm.context, targets.tell_devices) == devices
    assert warm.pid == server


def test_a_parallel_operation_works_in_every_worker(warm: Zygote) -> None:
    assert [asked(warm.context, targets.compute) for _ in range(3)] == [4_000_000.0] * 3
