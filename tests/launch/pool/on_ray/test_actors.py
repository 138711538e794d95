"""An actor's handling of what it is sent, and the order in which it is sent. Ray is not needed for it."""

from __future__ import annotations

import os
import pickle
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from coldfork.launch.pool import wire
from coldfork.launch.pool.on_ray.actor import TaskActor, Whereabouts, received, sent
from coldfork.launch.pool.on_ray.worker import RayWorker
from coldfork.launch.pool.task import PoolFuture, Task
from coldfork.launch.pool.wire import INLINE, arrived, by_value, pack, unpack
from tests.launch.pool import targets
from tests.launch.pool.conftest import LIMIT

if TYPE_CHECKING:
    from coldfork.launch.pool.on_ray.actor import Parcel

AT = Whereabouts(7, "192.0.2.2", "d6c9", ())


def travelled(parcel: Parcel) -> Parcel:
    """A parcel after a way on which its pieces stay out of the pickle, and arrive read-only."""
    pieces: list[pickle.PickleBuffer] = []
    content = pickle.dumps(parcel, 5, buffer_callback=pieces.append)
    assert len(content) < 2 * INLINE
    arrived_pieces = [memoryview(bytes(piece.raw())) for piece in pieces]
    made: Parcel = pickle.loads(content, buffers=arrived_pieces)
    return made


def worked(call: tuple[Any, ...], *, keep: bool = False) -> tuple[int, Any]:
    """Return the result of a call, and how it ended."""
    payload = pack((*call, {}), by_value, keep=keep)
    number, kind, seconds, parcel = TaskActor().work(3, travelled(sent(payload)))
    payload.close()
    assert number == 3
    assert seconds >= 0
    back = received(travelled(parcel))
    read = unpack if kind == wire.RETURNED else arrived
    return kind, read(back.data, back.memory)


@pytest.mark.parametrize("keep", [False, True])
def test_what_is_large_travels_beside_the_pickle_and_may_be_changed(keep: bool) -> None:
    content = bytearray(b"\7" * 300_000)
    assert worked((targets.fill, (content,)), keep=keep) == (wire.RETURNED, b"\7\7\7\7")
    assert content[:4] == b"\7\7\7\7"
    kind, back = worked((targets.tell, (content,)), keep=keep)
    back[0] = 1
    assert (kind, len(back), back[1]) == (wire.RETURNED, 300_000, 7)


def test_what_a_task_raises_comes_back_however_large() -> None:
    kind, error = worked((targets.fail, ("much " * 50_000,)))
    assert kind == wire.RAISED
    assert repr(error) == repr(ValueError("much " * 50_000))
    assert "in fail" in str(error.__cause__)


def test_a_result_that_cannot_be_pickled_is_its_own_error() -> None:
    kind, error = worked((targets.give_a_lock, ()))
    assert kind == wire.RAISED
    assert "cannot pickle" in str(error)


def test_a_task_may_close_its_output(monkeypatch: pytest.MonkeyPatch) -> None:
    with Path(os.devnull).open("w", encoding="ascii") as output:
        monkeypatch.setattr(sys, "stdout", output)
        assert worked((_close_output, ())) == (wire.RETURNED, None)


def _close_output() -> None:
    sys.stdout.close()


def test_an_initializer_that_fails_says_so() -> None:
    said = TaskActor().prepare((), by_value((targets.fail, ("no licence",))))
    assert isinstance(said, str)
    assert said.startswith("the initializer raised:\nTraceback")
    assert said.endswith("ValueError: no licence\n")


def test_a_preload_that_fails_is_named() -> None:
    said = TaskActor().prepare(("json", "no_such_module_at_all"), None)
    assert isinstance(said, str)
    assert said.startswith("the preload import of no_such_module_at_all raised:\n")


class Answering:
    """An actor's handle, whose calls are answered when the test says so."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, Future[Any]]] = []
        self.ended = False

    @property
    def work(self) -> Answering:
        return self

    def remote(self, number: int, _parcel: Parcel) -> Ref:
        self.calls.append((number, Future()))
        return Ref(self.calls[-1][1])


class Ref:
    """The immediate result of a call."""

    def __init__(self, future: Future[Any]) -> None:
        self._future = future

    def future(self) -> Future[Any]:
        return self._future


class Connected:
    """A connection to Ray, while it is one."""

    def __init__(self) -> None:
        self.is_there = True

    def lasts(self) -> bool:
        return self.is_there

    def kill(self, actor: Answering) -> None:
        actor.ended = True


class Place:
    """A worker whose events are kept for the test."""

    def __init__(self) -> None:
        self.actor, self.connection = Answering(), Connected()
        self.events: list[Callable[[], object]] = []
        self.heard: list[Future[Any]] = []
        self.worker = RayWorker(0, self.actor, self.connection, self.events.append)  # type: ignore[arg-type]
        self.worker.begin(AT, lambda _, future: self.heard.append(future), lambda *_: None)

    def go_on(self) -> None:
        """Do what the crew's thread was to do."""
        while self.events:
            self.events.pop(0)()

    @property
    def sent(self) -> list[int]:
        return [number for number, _ in self.actor.calls]


def tasks(*numbers: int, content: object = None) -> list[Task]:
    return [Task(number, PoolFuture(), pack((targets.tell, (content,), {}), keep=True)) for number in numbers]


def test_an_actor_has_one_task_at_a_time_in_their_order() -> None:
    place = Place()
    assert place.worker.give(tasks(1, 2))
    assert place.worker.give(tasks(3))
    assert place.sent == [1]
    place.actor.calls[0][1].set_result((1, wire.RETURNED, 0.0, (b"", ())))
    place.go_on()
    assert len(place.heard) == 1
    assert place.worker.next() == 1
    assert place.sent == [1, 2]
    assert place.worker.next() == 2
    assert place.sent == [1, 2, 3]
    assert place.worker.next() == 3


def test_what_was_not_sent_is_taken_back_and_what_was_is_not() -> None:
    place = Place()
    place.worker.give(tasks(1, 2, 3, 4))
    assert place.worker.take_back(1) == [2]
    assert place.worker.take_back() == [3, 4]
    assert place.worker.take_back() == []
    assert place.worker.next() == 1
    assert place.sent == [1]


def test_what_is_large_is_sent_by_the_thread_that_waits_for_nobody() -> None:
    place = Place()
    place.worker.give(tasks(1, content=bytes(200_000)))
    assert place.sent == []
    assert place.worker.take_back() == []
    place.go_on()
    assert place.sent == [1]


def test_what_cannot_be_sent_is_heard_of_as_an_answer() -> None:
    place = Place()
    place.actor.remote = _full  # type: ignore[method-assign, assignment]
    place.worker.give(tasks(1))
    place.go_on()
    assert [type(future.exception()) for future in place.heard] == [MemoryError]


def _full(*_: object) -> Ref:
    raise MemoryError("the object store is full")


def test_ray_is_not_called_when_the_caller_has_left_it() -> None:
    place = Place()
    place.connection.is_there = False
    place.worker.give(tasks(1))
    place.worker.finish()
    place.worker.kill()
    place.go_on()
    assert place.sent == []


def test_tasks_given_and_taken_back_by_many_threads_are_each_somewhere_once() -> None:
    place = Place()
    taken: list[int] = []

    def give_and_take(first: int) -> None:
        for number in range(first, first + 200):
            place.worker.give(tasks(number))
            taken.extend(place.worker.take_back(2))

    threads = [threading.Thread(target=give_and_take, args=(first,)) for first in (0, 1000, 2000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
    done: list[int] = []
    while len(done) < len(place.sent):
        done.append(place.worker.next())
    assert sorted(taken + done) == [*range(200), *range(1000, 1200), *range(2000, 2200)]
    assert place.sent == done
