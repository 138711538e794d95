"""Running processes seen from outside, in trees that were planted or recorded."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coldfork.model.errors import UsageError
from coldfork.model.running import StartedBy, Threads
from coldfork.model.states import Level, Status
from coldfork.observe.probes.examination import ORDER
from coldfork.observe.recording.events import encode
from tests.launch.process_trees import (
    CUDA,
    EXECUTED,
    FORKED,
    File,
    Planted,
    Thread,
    forked,
    looked_at,
    process_of,
    recorded,
    state_of,
)
from tests.report.recorded import AWAKE, Tape

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has /proc")

UVM = "/dev/nvidia-uvm"
GOMP = "/usr/lib/libgomp.so.1"


def awake(**changes: Any) -> Planted:
    """A process that has initialised CUDA."""
    return Planted(
        **{
            "pid": 100,
            "libraries": [CUDA],
            "files": {3: File("pipe:[7]", "pipe"), 5: File(UVM, "uvm of 100")},
            **changes,
        }
    )


def test_the_open_device_file_says_awake(tmp_path: Path) -> None:
    found = state_of(looked_at(tmp_path, awake()), 100)
    assert (found.status, found.level, found.reason) == (Status.AWAKE, None, f"it holds {UVM} open")


@pytest.mark.parametrize(
    ("libraries", "paths", "status"),
    [
        ([], [], Status.ABSENT),
        ([], [UVM], Status.ABSENT),
        ([CUDA], [], Status.COLD),
        ([CUDA, "/usr/lib/libnvidia-ml.so.1"], ["/dev/nvidiactl", "/dev/nvidia0"], Status.COLD),
        ([CUDA], ["/dev/nvidiactl", "/dev/nvidia0"], Status.UNKNOWN),
        ([CUDA], ["/dev/nvmap"], Status.UNKNOWN),
        ([CUDA, "/usr/lib/libnvidia-ml.so.1"], ["/dev/dxg"], Status.UNKNOWN),
        (["/var/cache/coldfork/virtual/0a1b2c/libcuda.so.1"], [], Status.UNKNOWN),
    ],
)
def test_what_else_may_be_open(
    libraries: list[str], paths: list[str], status: Status, tmp_path: Path
) -> None:
    files = {number: File(path, path) for number, path in enumerate(paths, 3)}
    found = looked_at(tmp_path, Planted(100, libraries=libraries, files=files))
    assert state_of(found, 100).status is status


def test_a_virtual_device_without_a_library_is_unknown(tmp_path: Path) -> None:
    found = looked_at(tmp_path, Planted(100, environment={"COLDFORK_VIRTUAL": "mi300x:2"}))
    assert state_of(found, 100, "rocm").status is Status.UNKNOWN
    assert state_of(found, 100, "cuda").status is Status.ABSENT


def test_a_child_that_shares_the_device_file_is_poisoned(tmp_path: Path) -> None:
    parent = awake()
    found = looked_at(tmp_path, parent, forked(101, parent, 2000))
    state = state_of(found, 101)
    assert (state.status, state.reason) == (
        Status.POISONED,
        f"it was forked from a process that had {UVM} open, and shares it with process 100",
    )
    assert [process.pid for process in found.poisoned] == [101]


def test_a_child_that_opened_its_own_is_awake(tmp_path: Path) -> None:
    """Both open the lowest descriptor that is free, so the number says nothing."""
    parent = awake()
    child = forked(101, parent, 2000, files={3: File("pipe:[7]", "pipe"), 5: File(UVM, "uvm of 101")})
    assert state_of(looked_at(tmp_path, parent, child), 101).status is Status.AWAKE


def test_a_child_forked_before_the_parent_woke_is_cold(tmp_path: Path) -> None:
    parent = awake()
    child = forked(101, parent, 2000, files={3: File("pipe:[7]", "pipe")})
    state = state_of(looked_at(tmp_path, parent, child), 101)
    assert state.status is Status.COLD
    assert "before that process opened the device" in (state.reason or "")


@pytest.mark.parametrize(
    "files", [{}, {0: File("/dev/null", "stdin")}, {3: File("pipe:[7]", "a pipe of its own")}]
)
def test_a_child_that_closed_everything_is_unknown(files: dict[int, File], tmp_path: Path) -> None:
    """A daemon closes what it was forked with, and then holds no device file either."""
    parent = awake(files={0: File("/dev/null", "stdin"), 3: File("pipe:[7]", "pipe"), 5: File(UVM, "uvm")})
    state = state_of(looked_at(tmp_path, parent, forked(101, parent, 2000, files=files)), 101)
    assert state.status is Status.UNKNOWN
    assert "has no descriptor left" in (state.reason or "")


def test_a_cold_parent_has_cold_children(tmp_path: Path) -> None:
    parent = awake(files={})
    assert state_of(looked_at(tmp_path, parent, forked(101, parent, 2000)), 101).status is Status.COLD


def test_what_is_unknown_of_the_parent_is_unknown_of_the_child(tmp_path: Path) -> None:
    parent = awake(files=None)
    state = state_of(looked_at(tmp_path, parent, forked(101, parent, 2000)), 101)
    assert (state.status, state.reason) == (
        Status.UNKNOWN,
        "in process 100, which forked it: this user may not see its open files",
    )


def test_poison_is_handed_on(tmp_path: Path) -> None:
    """Also to a grandchild that has closed what it was forked with."""
    parent = awake()
    child = forked(101, parent, 2000)
    grandchild = forked(102, child, 3000, files={})
    found = looked_at(tmp_path, parent, child, grandchild)
    assert state_of(found, 102).status is Status.POISONED
    assert "process 101" in (state_of(found, 102).reason or "")


def test_orphans_that_share_a_device_file_are_poisoned(tmp_path: Path) -> None:
    """The process that opened it has ended: the elder of two workers cannot have it from the younger."""
    gone = awake()
    elder, younger = forked(101, gone, 2000, parent=1), forked(102, gone, 2001, parent=1)
    found = looked_at(tmp_path, elder, younger)
    assert state_of(found, 102).status is Status.POISONED
    state = state_of(found, 101)
    assert state.status is Status.UNKNOWN
    assert "the process that forked it has ended" in (state.reason or "")


def test_an_orphan_that_looks_cold_is_unknown(tmp_path: Path) -> None:
    state = state_of(looked_at(tmp_path, forked(101, awake(), 2000, parent=1, files={})), 101)
    assert state.status is Status.UNKNOWN
    assert "may be poisoned" in (state.reason or "")


def test_the_first_process_of_a_container_takes_over_orphans(tmp_path: Path) -> None:
    """Its own children cannot be told from those of a child of its own that has ended."""
    parent = awake(first=True)
    child = forked(101, parent, 2000, files={5: File(UVM, "uvm of 101")})
    state = state_of(looked_at(tmp_path, parent, child), 101)
    assert state.status is Status.UNKNOWN
    assert "process 100 adopts orphans" in (state.reason or "")


def test_a_later_process_with_the_parents_number_is_no_parent(tmp_path: Path) -> None:
    child = forked(101, awake(), 2000, files={})
    state = state_of(looked_at(tmp_path, awake(start=3000, files={}), child), 101)
    assert state.status is Status.UNKNOWN


def test_a_parent_that_became_another_program_tells_nothing(tmp_path: Path) -> None:
    """It has other addresses than the child then, and what it holds now is not what it held at the fork."""
    parent = awake(files={})
    child = forked(101, parent, 2000, layout=77)
    assert state_of(looked_at(tmp_path, parent, child), 101).status is Status.UNKNOWN


@pytest.mark.parametrize("refused", [errno.EPERM, errno.ENOSYS])
def test_where_descriptors_cannot_be_compared_it_is_unknown(refused: int, tmp_path: Path) -> None:
    parent = awake()
    state = state_of(looked_at(tmp_path, parent, forked(101, parent, 2000), refuses=refused), 101)
    assert state.status is Status.UNKNOWN
    assert "cannot compare its descriptors with those of process 100" in (state.reason or "")


def test_a_program_that_was_handed_the_device_file_has_not_opened_it(tmp_path: Path) -> None:
    parent = awake(files={5: File(UVM, "uvm", cloexec=False)})
    child = Planted(101, 100, start=2000, libraries=[CUDA], files={5: File(UVM, "uvm", cloexec=False)})
    state = state_of(looked_at(tmp_path, parent, child), 101)
    assert state.status is Status.COLD
    assert "got it from process 100" in (state.reason or "")


def test_what_an_exec_would_have_closed_is_ones_own(tmp_path: Path) -> None:
    """So nothing has to be compared, and a refusal does no harm."""
    child = Planted(101, 100, start=2000, libraries=[CUDA], files={5: File(UVM, "uvm of 101")})
    assert state_of(looked_at(tmp_path, awake(), child, refuses=errno.EPERM), 101).status is Status.AWAKE


def test_rocm_is_judged_by_its_own_device_file(tmp_path: Path) -> None:
    parent = Planted(100, libraries=["/opt/rocm/libamdhip64.so.6"], files={4: File("/dev/kfd", "kfd")})
    found = looked_at(tmp_path, parent, forked(101, parent, 2000))
    assert state_of(found, 100, "rocm").status is Status.AWAKE
    assert state_of(found, 101, "rocm").status is Status.POISONED


def with_pool(**changes: Any) -> Planted:
    """A process whose libgomp started its threads at 1500."""
    return Planted(**{"pid": 100, "libraries": [GOMP], "threads": {110: Thread(1500, GOMP)}, **changes})


@pytest.mark.parametrize(
    ("start", "status"), [(1499, Status.COLD), (1500, Status.UNKNOWN), (1501, Status.POISONED)]
)
def test_a_pool_is_judged_by_the_times(start: int, status: Status, tmp_path: Path) -> None:
    parent = with_pool()
    found = looked_at(tmp_path, parent, forked(101, parent, start))
    assert state_of(found, 100, "openmp").status is Status.AWAKE
    assert state_of(found, 101, "openmp").status is status
    assert found.poisoned == (), "a runtime that is no device does harm only where it is used"


def test_a_child_with_a_pool_of_its_own_is_awake(tmp_path: Path) -> None:
    parent = with_pool()
    child = forked(101, parent, 2000, threads={111: Thread(2100, GOMP)})
    assert state_of(looked_at(tmp_path, parent, child), 101, "openmp").status is Status.AWAKE


def test_without_a_look_into_the_memory_threads_are_not_told_apart(tmp_path: Path) -> None:
    found = looked_at(tmp_path, with_pool(threads=None, python_threads=3))
    state = state_of(found, 100, "openmp")
    reason = "only its memory, which this user may not read, tells which library started its threads"
    assert (state.status, state.reason) == (Status.UNKNOWN, reason)
    assert process_of(found, 100).threads == Threads(3, reason=reason)


def test_whether_tokenizers_survive_shows_only_inside(tmp_path: Path) -> None:
    """The variable that decides it may have been set by the program itself."""
    library = "/usr/lib/tokenizers.abi3.so"
    parent = Planted(100, libraries=[library], threads={110: Thread(1500, library)})
    found = looked_at(tmp_path, parent, forked(101, parent, 2000))
    assert state_of(found, 100, "tokenizers").reason == "its pool runs 1 native thread"
    assert state_of(found, 101, "tokenizers").status is Status.UNKNOWN


@pytest.mark.parametrize(
    ("threads", "status"),
    [({}, Status.COLD), ({110: Thread(1, "/usr/lib/libjax_common.so")}, Status.UNKNOWN)],
)
def test_jax_shows_its_threads_and_not_its_clients(
    threads: dict[int, Thread], status: Status, tmp_path: Path
) -> None:
    found = looked_at(tmp_path, Planted(100, libraries=["/usr/lib/libjax_common.so"], threads=threads))
    assert [state_of(found, 100, name).status for name in ("jax", "jax-cpu")] == [status, status]


def test_a_driver_of_opencl_without_threads_is_unknown(tmp_path: Path) -> None:
    found = looked_at(tmp_path, Planted(100, libraries=["/usr/lib/libpocl.so.2"]))
    assert state_of(found, 100, "opencl").status is Status.UNKNOWN


def test_nothing_is_said_of_a_memory_that_is_hidden(tmp_path: Path) -> None:
    found = looked_at(
        tmp_path, Planted(100, libraries=None, program=None, words=["/usr/bin/python3", "x.py"])
    )
    assert [(one.accelerator, one.status, one.reason) for one in process_of(found, 100).states] == [
        (name, Status.UNKNOWN, "this user may not see its memory map") for name in ORDER
    ]


SPAWN = "from {}.spawn import spawn_main; spawn_main(tracker_fd=7, pipe_handle=9)"
SERVER = "from {}.forkserver import main; main(5, 6, ['__main__'], **{{}})"
TRACKER = "from multiprocessing.resource_tracker import main;main(5)"


@pytest.mark.parametrize(
    ("flags", "words", "how", "role"),
    [
        (EXECUTED, ["python", "serve.py"], StartedBy.EXEC, None),
        (
            EXECUTED,
            ["python", "-c", SPAWN.format("multiprocessing"), "--multiprocessing-fork"],
            StartedBy.SPAWN,
            None,
        ),
        (EXECUTED, ["python", "-c", SPAWN.format("billiard"), "--billiard-fork"], StartedBy.SPAWN, None),
        (EXECUTED, ["python", "-c", SPAWN.format("multiprocess")], StartedBy.SPAWN, None),
        (EXECUTED, ["app", "--multiprocessing-fork", "tracker_fd=7", "pipe_handle=9"], StartedBy.SPAWN, None),
        (
            EXECUTED,
            ["python", "-m", "joblib.externals.loky.backend.popen_loky_posix", "--pipe", "9"],
            StartedBy.SPAWN,
            None,
        ),
        (EXECUTED, ["python", "-c", SERVER.format("multiprocessing")], StartedBy.EXEC, "forkserver"),
        (FORKED, ["python", "-c", SERVER.format("multiprocessing")], StartedBy.FORKSERVER, None),
        (EXECUTED, ["python", "-c", TRACKER], StartedBy.EXEC, "resource tracker"),
        (FORKED, ["python", "serve.py"], StartedBy.FORK, None),
        (FORKED, ["python", "-c", SPAWN.format("multiprocessing")], StartedBy.FORK, None),
        (EXECUTED, ["python", "grep.py", "from multiprocessing"], StartedBy.EXEC, None),
    ],
)
def test_how_it_was_started(
    flags: int, words: list[str], how: StartedBy, role: str | None, tmp_path: Path
) -> None:
    found = process_of(looked_at(tmp_path, Planted(100, flags=flags, words=words)), 100)
    assert (found.how, found.role) == (how, role)


@pytest.mark.parametrize(
    ("layout", "parent", "how"),
    [(100, 100, StartedBy.FORK), (7, 100, StartedBy.EXEC), (7, 1, StartedBy.UNKNOWN)],
)
def test_where_the_kernel_keeps_no_note_the_addresses_tell(
    layout: int, parent: int, how: StartedBy, tmp_path: Path
) -> None:
    child = Planted(101, parent, flags=0, start=2000, layout=layout)
    assert process_of(looked_at(tmp_path, Planted(100, flags=0), child), 101).how is how


@pytest.mark.parametrize(
    ("changes", "is_python"),
    [
        ({"program": "/usr/bin/python3.13t"}, True),
        ({"program": "/usr/bin/python3.12 (deleted)"}, True),
        ({"program": "/opt/pypy/bin/pypy3.10"}, True),
        ({"program": "/usr/bin/uwsgi", "libraries": ["/usr/lib/libpython3.12.so.1.0"]}, True),
        ({"program": "/opt/app/app", "libraries": ["/opt/app/_ssl.cpython-312-x86_64-linux-gnu.so"]}, True),
        ({"program": "/usr/bin/bash"}, False),
        ({"program": "/usr/bin/pythonlike"}, False),
        ({"program": "/usr/bin/python3.12", "state": "Z"}, False),
        ({"program": "/usr/bin/python3.12", "user": 7}, False),
        ({"program": None, "words": ["/usr/bin/python3", "x.py"]}, True),
        ({"program": None, "words": []}, False),
    ],
)
def test_which_processes_are_pythons(changes: dict[str, Any], is_python: bool, tmp_path: Path) -> None:
    found = looked_at(tmp_path, Planted(100, **changes))
    assert [process.pid for process in found.processes] == ([100] if is_python else [])


def test_a_tree_leaves_out_what_is_no_python_and_keeps_who_is_below(tmp_path: Path) -> None:
    tree = [
        Planted(100),
        Planted(101, 100, start=1001, program="/bin/sh"),
        Planted(102, 101, start=1002),
        Planted(103, 100, start=1001),
        Planted(90, start=2000),
    ]
    found = looked_at(tmp_path, *tree, asked=(101, 90))
    assert [(one.pid, one.parent, one.depth) for one in found.processes] == [(102, None, 0), (90, None, 0)]
    everything = looked_at(tmp_path / "again", *tree)
    assert [(one.pid, one.parent, one.depth) for one in everything.processes] == [
        (100, None, 0),
        (103, 100, 1),
        (102, 100, 1),
        (90, None, 0),
    ]


def test_another_users_process_is_shown_when_it_is_named(tmp_path: Path) -> None:
    found = looked_at(tmp_path, Planted(100, user=7), asked=(100,))
    assert [process.pid for process in found.processes] == [100]


def test_a_process_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no process 4711"):
        looked_at(tmp_path, Planted(100), asked=(4711,))


def test_secrets_are_taken_out_of_commands(tmp_path: Path) -> None:
    found = looked_at(tmp_path, Planted(100, words=["python", "serve.py", "--api-key", "c0ffee"]))
    assert process_of(found, 100).command == ("python", "serve.py", "--api-key", "<redacted>")


def recording_of(tmp_path: Path, tape: Tape) -> dict[str, str]:
    """The environment of a process whose recording this is."""
    place = tmp_path / "run.coldfork"
    place.write_bytes(tape.content)
    return {"COLDFORK_WATCH": encode({"mode": "run", "recording": str(place)}).decode().strip()}


def test_a_recording_names_the_waker_and_the_level(tmp_path: Path) -> None:
    tape = (
        Tape().process(0.0, pid=100).wake(1.0, pid=100).event("state", 2.0, pid=100, at="now", states=AWAKE)
    )
    parent = awake(environment=recording_of(tmp_path, tape))
    found = looked_at(tmp_path / "proc", parent, forked(101, parent, 2000))
    state = state_of(found, 100)
    assert (state.status, state.level) == (Status.AWAKE, Level.CONTEXT)
    assert state.waker is not None
    assert (state.waker.path, state.waker.line) == ("vllm/v1/attention/backends/flash_attn.py", 175)
    assert process_of(found, 100).recording == str(tmp_path / "run.coldfork")
    assert process_of(found, 101).recording is None, "it was not watched, so the recording says nothing of it"


def test_the_waker_of_a_poisoned_child_is_its_parents(tmp_path: Path) -> None:
    tape = Tape().process(0.0, pid=100).wake(1.0, pid=100)
    tape.event("fork", 2.0, pid=100, child=101, stack=[], states=AWAKE, thread="MainThread")
    tape.process(2.0, pid=101, ppid=100, how="fork").wake(3.0, pid=100, line=999)
    parent = awake(environment=recording_of(tmp_path, tape))
    state = state_of(looked_at(tmp_path / "proc", parent, forked(101, parent, 2000)), 101)
    assert state.status is Status.POISONED
    assert state.waker is not None
    assert state.waker.line == 175


def test_a_wake_after_the_fork_is_not_the_childs(tmp_path: Path) -> None:
    tape = Tape().process(0.0, pid=100)
    tape.event("fork", 1.0, pid=100, child=101, stack=[], states=[], thread="MainThread")
    tape.process(1.0, pid=101, ppid=100, how="fork").wake(3.0, pid=100)
    parent = awake(environment=recording_of(tmp_path, tape))
    state = state_of(looked_at(tmp_path / "proc", parent, forked(101, parent, 2000)), 101)
    assert (state.status, state.waker) == (Status.POISONED, None)


@pytest.mark.parametrize(
    "departed",
    [
        lambda tape: tape.exit(2.0, pid=100),
        lambda tape: tape.event("exec", 2.0, pid=100, command=["python", "-I"], stack=[], states=AWAKE),
    ],
)
def test_what_is_recorded_of_an_earlier_program_is_not_said_of_this_one(
    departed: Callable[[Tape], object], tmp_path: Path
) -> None:
    """The number was given to another process, or the process became another program."""
    tape = Tape().process(0.0, pid=100).wake(1.0, pid=100)
    departed(tape)
    process = Planted(100, environment=recording_of(tmp_path, tape))
    found = looked_at(tmp_path / "proc", process)
    assert state_of(found, 100).status is Status.ABSENT
    assert process_of(found, 100).recording is None


def test_what_was_only_inferred_outweighs_no_evidence(tmp_path: Path) -> None:
    """The recording takes a fork of an awake process for poisoned; that this one is awake can be seen."""
    tape = Tape().process(0.0, pid=100).wake(1.0, pid=100)
    tape.event("fork", 2.0, pid=100, child=101, stack=[], states=AWAKE, thread="MainThread")
    tape.process(2.0, pid=101, ppid=100, how="fork", states=[])
    parent = awake(environment=recording_of(tmp_path, tape))
    child = forked(101, parent, 2000, files={5: File(UVM, "uvm of 101")})
    assert state_of(looked_at(tmp_path / "proc", parent, child), 101).status is Status.AWAKE


@pytest.mark.parametrize(
    "spoil",
    [
        lambda place: place.unlink(),
        lambda place: place.write_bytes(b"\x00\x01"),
        lambda place: place.write_bytes(b""),
    ],
)
def test_a_recording_that_cannot_be_read_costs_nothing(
    spoil: Callable[[Path], object], tmp_path: Path
) -> None:
    parent = awake(environment=recording_of(tmp_path, Tape().process(0.0, pid=100)))
    spoil(tmp_path / "run.coldfork")
    found = looked_at(tmp_path / "proc", parent)
    assert state_of(found, 100).status is Status.AWAKE
    assert process_of(found, 100).recording is None


@pytest.mark.parametrize(("room", "is_read"), [(0, True), (-1, False)])
def test_a_recording_is_left_unread_where_it_is_larger_than_was_asked_for(
    room: int, is_read: bool, tmp_path: Path
) -> None:
    parent = awake(environment=recording_of(tmp_path, Tape().process(0.0, pid=100)))
    largest = (tmp_path / "run.coldfork").stat().st_size + room
    found = looked_at(tmp_path / "proc", parent, largest=largest)
    assert state_of(found, 100).status is Status.AWAKE
    assert (process_of(found, 100).recording is not None) is is_read


def test_a_recorded_server_with_workers_of_every_kind(tmp_path: Path) -> None:
    """Recorded from a program that forked a worker, used torch on threads, and then started the others."""
    tree = recorded("server")
    root = tree[0].pid
    for one in tree:
        one.user = 1000
    found = looked_at(tmp_path, *tree)
    said = [
        (one.depth, one.how.value, one.role, state_of(found, one.pid, "openmp").status.value)
        for one in found.processes
    ]
    assert said == [
        (0, "exec", None, "awake"),
        (1, "fork", None, "cold"),
        (1, "fork", None, "poisoned"),
        (1, "fork", None, "poisoned"),
        (1, "exec", "resource tracker", "absent"),
        (1, "spawn", None, "cold"),
        (1, "exec", "forkserver", "absent"),
        (2, "forkserver", None, "cold"),
    ]
    threads = process_of(found, root).threads
    assert threads is not None
    assert threads.python == 5, "main, a thread of the program, and the three by which Pool works"
    assert dict(threads.libraries) == {"libgomp.so.1": 2, "libtorch_cpu.so": 2}
