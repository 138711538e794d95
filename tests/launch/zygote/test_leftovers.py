"""Many starts leave no process, no descriptor and no file."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from coldfork.launch.server.zygote.handle import zygote
from coldfork.launch.server.zygote.sharing import servers
from tests.amounts import LONG
from tests.launch.zygote import targets
from tests.launch.zygote.conftest import LIMIT
from tests.launch.zygote.test_deaths import children

pytestmark = pytest.mark.once

STARTS = 1000 if LONG else 200
AT_ONCE = 4


def held() -> dict[str, object]:
    """Children, descriptors and memory files of this process, without servers that are kept a moment."""
    servers(os.getpid()).end_kept()
    return {
        "children": children(),
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "mapped": sum("memfd:" in line for line in Path("/proc/self/maps").read_text().splitlines()),
    }


def files() -> set[Path]:
    """Return the files that programs leave for each other."""
    return {*Path("/dev/shm").iterdir(), *Path(tempfile.gettempdir()).iterdir()}


def stay(suspects: set[Path]) -> set[Path]:
    """Those that do not go: other programs have such files, too, but none for as long as this waits."""
    until = time.monotonic() + LIMIT
    while (there := suspects & files()) and time.monotonic() < until:
        time.sleep(0.1)
    return there


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder for temporary files that nobody else uses."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_many_starts_leave_nothing(alone: None, ended: Callable[[Iterable[int]], list[int]]) -> None:
    # The tracker of resources is started once, and stays.
    with zygote() as made:
        first = made.context.Process(target=targets.leave, args=(0,))
        first.start()
        first.join(LIMIT)
        first.close()
    before, before_files = held(), files()
    with zygote() as made:
        context = made.context
        server = made.wait(LIMIT).pid
        assert server is not None
        of_server: set[int] = set()
        for _ in range(STARTS // AT_ONCE):
            running = [context.Process(target=targets.leave, args=(one,)) for one in range(AT_ONCE)]
            for process in running:
                process.start()
            for status, process in enumerate(running):
                process.join(LIMIT)
                assert process.exitcode == status
                process.close()
            of_server.add(len(list(Path(f"/proc/{server}/fd").iterdir())))
        # As many after the last as after the first, but for workers whose end it has yet to hear of.
        assert max(of_server) - min(of_server) <= 2 * AT_ONCE
    assert held() == before
    assert stay(files() - before_files) == set()
    assert ended([server]) == []


def test_a_worker_of_a_worker_leaves_nothing_either(alone: None) -> None:
    with zygote() as made:
        answers = made.context.SimpleQueue()
        server = made.wait(LIMIT).pid
        counts = []
        for _ in range(5):
            process = made.context.Process(target=targets.start_another, args=(answers, 1))
            process.start()
            answers.get()
            answers.get()
            process.join(LIMIT)
            process.close()
            counts.append(len(list(Path(f"/proc/{server}/fd").iterdir())))
        assert max(counts) - min(counts) <= 4
