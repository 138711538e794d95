"""Many calls at once: `map` with its options, and the faces for event loops."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from coldfork.launch.pool.pool import WorkerPool
from tests.launch.pool import targets
from tests.launch.pool.faults.leftovers import not_ended


@pytest.mark.parametrize("chunksize", [1, 7, 1_000])
@pytest.mark.parametrize("buffersize", [None, 1, 5])
def test_map_gives_all_in_order(pool: WorkerPool, chunksize: int, buffersize: int | None) -> None:
    found = pool.map(targets.add, range(100), range(100), chunksize=chunksize, buffersize=buffersize)
    assert list(found) == [2 * n for n in range(100)]


def test_map_reads_no_further_than_its_buffer(pool: WorkerPool) -> None:
    read: list[int] = []

    def numbers() -> Iterator[int]:
        for number in range(1_000):
            read.append(number)
            yield number

    found = pool.map(targets.square, numbers(), buffersize=4)
    assert [next(found) for _ in range(10)] == [n**2 for n in range(10)]
    assert len(read) == 14


def test_map_tells_how_far_it_has_come(pool: WorkerPool) -> None:
    told: list[tuple[int, int]] = []
    list(pool.map(targets.square, range(20), progress=lambda done, total: told.append((done, total))))
    assert told == [(n + 1, 20) for n in range(20)]


def test_an_error_ends_map(pool: WorkerPool) -> None:
    with pytest.raises(ValueError, match="here"):
        list(pool.map(targets.fail, ["here"] * 5))


def test_no_chunk_is_empty(pool: WorkerPool) -> None:
    with pytest.raises(ValueError, match="chunksize"):
        pool.map(targets.square, [1], chunksize=-1)


@pytest.mark.parametrize("ordered", [True, False])
def test_a_stream_gives_all(pool: WorkerPool, ordered: bool) -> None:
    async def gather() -> list[int]:
        return [result async for result in pool.astream(targets.square, range(200), ordered=ordered)]

    found = asyncio.run(gather())
    assert (found if ordered else sorted(found)) == [n**2 for n in range(200)]


def test_a_stream_that_is_left_leaves_nothing_running(pool: WorkerPool, tmp_path: Path) -> None:
    began = os.fspath(tmp_path / "began")
    os.mkfifo(began)

    async def take_one() -> int:
        stream = pool.astream(targets.square_or_hang, [3, began], ahead=2)
        result = int(await anext(stream))
        pid = int(await asyncio.to_thread(Path(began).read_text, "utf-8"))
        await stream.aclose()  # type: ignore[attr-defined]
        assert await asyncio.to_thread(not_ended, [pid]) == []
        return result

    assert asyncio.run(take_one()) == 9


def test_a_task_ends_when_whoever_awaits_it_is_cancelled(pool: WorkerPool, tmp_path: Path) -> None:
    began = os.fspath(tmp_path / "began")
    os.mkfifo(began)

    async def cancel() -> None:
        task = asyncio.create_task(pool.arun(targets.begin_and_hang, began))
        pid = int(await asyncio.to_thread(Path(began).read_text, "utf-8"))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(not_ended, [pid]) == []

    asyncio.run(cancel())
