"""The output of `coldfork ps`."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from coldfork.model.running import Census, RunningPython, StartedBy, Threads
from coldfork.model.states import Level, State, Status, Waker
from coldfork.report import processes
from coldfork.report.shared.options import Options

WAKER = Waker("engine", "engine/core.py", 7, "<module>", "torch.cuda.init", "MainThread")
SHARED = "it was forked from a process that had /dev/nvidia-uvm open, and shares it with process 100"
SERVER = RunningPython(
    pid=100,
    parent=None,
    depth=0,
    executable="/usr/bin/python3.12",
    command=("python", "serve.py"),
    started=1000.0,
    how=StartedBy.EXEC,
    states=(
        State("cuda", Status.AWAKE, Level.CONTEXT, "it holds /dev/nvidia-uvm open", waker=WAKER),
        State("rocm", Status.ABSENT),
        State("openmp", Status.COLD, reason="no worker threads of OpenMP are running"),
    ),
    threads=Threads(9, python=2, libraries=(("libcuda.so.570.86.15", 4), ("libgomp.so.1", 2)), untraced=1),
    recording="/state/run.coldfork",
)
WORKER = RunningPython(
    pid=101,
    parent=100,
    depth=1,
    executable="/usr/bin/python3.12",
    command=("python", "serve.py"),
    started=1090.0,
    how=StartedBy.FORK,
    states=(State("cuda", Status.POISONED, reason=SHARED), State("rocm", Status.ABSENT)),
    threads=Threads(1, python=1),
)
HIDDEN = RunningPython(
    pid=200,
    parent=None,
    depth=0,
    executable=None,
    command=(),
    started=1100.0,
    how=StartedBy.EXEC,
    role="forkserver",
    states=tuple(State(name, Status.UNKNOWN, reason="this user may not see it") for name in ("cuda", "rocm")),
    threads=None,
)
CENSUS = Census(1100.4, (SERVER, WORKER, replace(WORKER, pid=102), HIDDEN), vanished=1)


def test_text() -> None:
    assert processes.as_text(CENSUS, Options()) == (
        "PID    STARTED BY        AGO         ACCELERATORS             THREADS"
        "                                      COMMAND\n"
        "100    exec              1 min 40 s  cuda awake; openmp cold  "
        "9: python 2, libcuda 4, libgomp 2, others 1  python serve.py\n"
        "  101  fork              10 s        cuda poisoned            "
        "1                                            python serve.py\n"
        "  102  fork              10 s        cuda poisoned            "
        "1                                            python serve.py\n"
        "200    exec, forkserver  0 s         all unknown              "
        "?                                            ?\n"
        "\n"
        "100: cuda is awake (context): it holds /dev/nvidia-uvm open\n"
        "    woken in engine/core.py:7, by torch.cuda.init\n"
        "    according to /state/run.coldfork\n"
        f"101, 102: cuda is poisoned: {SHARED}\n"
        "200: cuda, rocm are unknown: this user may not see it\n"
        "\n"
        "2 of 4 Python processes of this user cannot use cuda any more\n"
        "Next: coldfork run --follow FILE names the line that woke the device\n"
    )


def test_a_terminal_is_not_overrun() -> None:
    server = replace(SERVER, command=("python", "serve.py", "--" + "x" * 500))
    shown = processes.as_text(Census(1100.0, (server,)), Options(width=140))
    assert max(map(len, shown.splitlines()[:2])) == 140


def test_colour_is_on_the_states_alone() -> None:
    lines = processes.as_text(CENSUS, Options(colour=True)).splitlines()
    assert "\x1b[1;31mcuda poisoned\x1b[0m" in lines[2]
    assert "\x1b[1;34mcuda awake; openmp cold\x1b[0m" in lines[1]


def test_what_other_programs_called_themselves_cannot_reach_the_terminal() -> None:
    shown = processes.as_text(Census(1100.0, (replace(SERVER, command=("\x1b[2J\nx",)),)), Options())
    assert "\x1b" not in shown
    assert r"\x1b[2J x" in shown


@pytest.mark.parametrize(
    ("census", "summary"),
    [
        (Census(1.0, ()), "0 Python processes of this user, no accelerator poisoned in any"),
        (
            Census(1.0, (SERVER, HIDDEN)),
            "2 Python processes of this user, no accelerator seen poisoned in any; not everything is known of 1",
        ),
        (Census(1.0, (SERVER,), asked=(100,)), "1 Python process under 100, no accelerator poisoned in any"),
        (
            Census(1.0, (replace(SERVER, states=(State("openmp", Status.POISONED, reason="x"),)),)),
            (
                "1 Python process of this user, no accelerator poisoned in any; "
                "openmp in 1, where it does harm only if it is used"
            ),
        ),
    ],
)
def test_the_summary(census: Census, summary: str) -> None:
    assert summary in processes.as_text(census, Options()).splitlines()


def test_many_that_are_alike_are_one_note() -> None:
    pool = tuple(replace(WORKER, pid=pid) for pid in range(101, 601))
    shown = processes.as_text(Census(1100.0, (SERVER, *pool)), Options())
    assert f"101, 102, 103, 104, 105, 106 and 494 more: cuda is poisoned: {SHARED}" in shown


def test_json_follows_its_schema() -> None:
    shown = json.loads(processes.as_json(CENSUS, Options(version="1.2")))
    schema = json.loads(
        files("coldfork.report").joinpath("schemas/ps.schema.json").read_text(encoding="utf-8")
    )
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(shown)
    assert list(shown) == schema["required"]
    assert list(shown["processes"][0]) == schema["$defs"]["process"]["required"]
    assert list(shown["processes"][0]["states"][0]) == schema["$defs"]["state"]["required"]
    assert shown["processes"][0]["states"][0]["woken_by"]["line"] == 7
    assert [(one["pid"], one["parent"], one["how"]) for one in shown["processes"]] == [
        (100, None, "exec"),
        (101, 100, "fork"),
        (102, 100, "fork"),
        (200, None, "exec"),
    ]
    assert shown["processes"][0]["threads"]["libraries"][0] == {
        "library": "libcuda.so.570.86.15",
        "threads": 4,
    }
