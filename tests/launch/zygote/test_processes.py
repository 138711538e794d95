"""The features of multiprocessing, with workers of a zygote."""

from __future__ import annotations

import multiprocessing
import os
import signal
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.connection import wait

import pytest

import coldfork
from coldfork.launch.server.zygote.handle import Zygote
from coldfork.launch.server.zygote.processes import ZygoteContext, registered
from tests.launch.zygote import targets
from tests.launch.zygote.conftest import LIMIT


def test_a_worker_is_a_child_of_its_caller(context: ZygoteContext) -> None:
    answers = context.Queue()
    process = context.Process(target=targets.tell_pids, args=(answers,))
    process.start()
    assert answers.get(timeout=LIMIT) == (process.pid, os.getpid(), os.getpid(), True)
    process.join(LIMIT)
    assert process.exitcode == 0


def test_it_can_be_waited_for_with_the_system_s_own_call(context: ZygoteContext) -> None:
    process = context.Process(target=targets.leave, args=(3,))
    process.start()
    assert process.pid is not None
    waited, status = os.waitpid(process.pid, 0)
    assert (waited, os.waitstatus_to_exitcode(status)) == (process.pid, 3)


class ForeignKey(bytes):
    """As a package keeps it that brings its own copy of multiprocessing."""

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("not for others")


def test_it_starts_from_a_process_of_another_multiprocessing(
    context: ZygoteContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = multiprocessing.current_process()._config  # type: ignore[attr-defined]
    monkeypatch.setitem(config, "authkey", ForeignKey(b"secret"))
    process = context.Process(target=targets.leave, args=(3,))
    process.start()
    process.join(LIMIT)
    assert process.exitcode == 3


@pytest.mark.parametrize("status", [0, 5])
def test_its_exit_code_is_known(context: ZygoteContext, status: int) -> None:
    process = context.Process(target=targets.leave, args=(status,))
    process.start()
    process.join(LIMIT)
    assert process.exitcode == status


def test_its_sentinel_can_be_read_when_it_has_ended(context: ZygoteContext) -> None:
    process = context.Process(target=targets.wait_for_ever)
    process.start()
    assert wait([process.sentinel], 0) == []
    process.terminate()
    assert wait([process.sentinel], LIMIT) == [process.sentinel]
    process.join(LIMIT)
    assert process.exitcode == -signal.SIGTERM


def test_an_exception_is_told_on_its_error_output(
    context: ZygoteContext, capfd: pytest.CaptureFixture[str]
) -> None:
    process = context.Process(target=targets.square, args=("no number",), name="Worker")
    process.start()
    process.join(LIMIT)
    assert process.exitcode == 1
    said = capfd.readouterr().err
    assert said.startswith("Process Worker:\nTraceback")
    assert said.endswith("TypeError: can't multiply sequence by non-int of type 'str'\n")


def test_a_pool_an_executor_and_a_manager(context: ZygoteContext) -> None:
    with context.Pool(2) as pool:
        assert pool.map(targets.square, range(5)) == [0, 1, 4, 9, 16]
    with ProcessPoolExecutor(2, mp_context=context) as executor:
        assert list(executor.map(targets.square, range(5))) == [0, 1, 4, 9, 16]
    with context.Manager() as manager:
        shared = manager.dict()
        shared["key"] = "value"
        assert dict(shared) == {"key": "value"}


def test_descriptors_travel_with_the_process(context: ZygoteContext) -> None:
    ours, theirs = context.Pipe()
    process = context.Process(target=targets.add_one, args=(theirs,))
    process.start()
    theirs.close()
    ours.send(4)
    assert ours.recv() == 5
    process.join(LIMIT)


def test_a_worker_has_workers_of_the_same_server(context: ZygoteContext, served: Zygote) -> None:
    answers = context.Queue()
    process = context.Process(target=targets.start_another, args=(answers, 9))
    process.start()
    pid, parent, above, alive = answers.get(timeout=LIMIT)
    # The kernel makes it the server's child; for multiprocessing it is the worker's all the same.
    assert (parent, above, alive) == (served.pid, process.pid, True)
    assert answers.get(timeout=LIMIT) == (pid, 0, 9, -signal.SIGKILL)
    process.join(LIMIT)
    assert process.exitcode == 0


def test_a_child_that_the_caller_forked_uses_the_server_too(context: ZygoteContext, served: Zygote) -> None:
    context.Process(target=targets.leave, args=(0,)).start()
    forked = os.fork()
    if forked == 0:
        process = context.Process(target=targets.leave, args=(8,))
        process.start()
        process.join(LIMIT)
        os._exit(process.exitcode or 0)
    assert os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1]) == 8


def test_the_context_is_found_by_its_name(context: ZygoteContext, served: Zygote) -> None:
    assert coldfork.get_context("zygote").zygote is served  # type: ignore[union-attr]
    assert multiprocessing.get_context("zygote") is not None
    assert registered() is multiprocessing.get_context("zygote")
    assert coldfork.get_context("zygote", preload=["http.client"]).zygote is served  # type: ignore[union-attr]


def test_a_class_derived_from_that_of_the_context_is_started(context: ZygoteContext) -> None:
    # Imported now, because it needs the context, as in a program that derives from it at its top.
    from tests.launch.zygote.derived import Derived

    process = Derived()
    process.start()
    process.join(LIMIT)
    assert process.exitcode == 4


def test_what_no_worker_can_unpickle_raises_in_the_caller(context: ZygoteContext) -> None:
    process = context.Process(target=lambda: None)
    with pytest.raises((AttributeError, TypeError), match="pickle"):
        process.start()


def test_too_many_descriptors_are_an_error(context: ZygoteContext) -> None:
    pipes = [context.Pipe(duplex=False) for _ in range(130)]
    process = context.Process(target=targets.square, args=(pipes,))
    with pytest.raises(ValueError, match="too many fds"):
        process.start()
    for pair in pipes:
        for end in pair:
            end.close()
