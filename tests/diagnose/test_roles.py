"""Whose the lines of a stack are, and which of them a story names."""

from __future__ import annotations

import pytest

from coldfork.diagnose import roles
from coldfork.diagnose.logs.records import LogFrame
from coldfork.model.diagnosis import Role
from tests.diagnose.running import only_story, raised

SITE = "/usr/lib/python3.12/site-packages"
HOME = "/home"


def stack(*calls: str) -> tuple[LogFrame, ...]:
    """A stack of `path:line function`, the outermost call first."""
    frames = []
    for number, call in enumerate(calls, 1):
        place, _, function = call.partition(" ")
        path, _, line = place.rpartition(":")
        frames.append(LogFrame(number, path, int(line), function))
    return tuple(frames)


START = "/usr/lib/python3.12/multiprocessing/process.py:314 _bootstrap"
START_OF_ONE = "/usr/lib/python3.12/multiprocessing/process.py:121 start"
LAZY = f"{SITE}/torch/cuda/__init__.py:305 _lazy_init"


@pytest.mark.parametrize(
    ("calls", "line"),
    [
        (("/srv/app/data.py:25 __getitem__", f"{SITE}/kornia/color.py:9 to_gray", LAZY), 25),
        ((f"{SITE}/vllm/worker.py:8 init", f"{SITE}/vllm/model_runner.py:271 load", LAZY), 271),
        ((f"{SITE}/vllm/worker.py:8 init", f"{SITE}/xformers/ops.py:3 load", LAZY), 8),
        ((f"{SITE}/torch/utils/data/_utils/worker.py:9 _worker_loop", "/srv/d.py:4 get", LAZY), 4),
        (("/srv/pytorch/torch/cuda/__init__.py:305 _lazy_init",), None),
        (("/srv/a.py:3 run", "/srv/pytorch/torch/cuda/__init__.py:305 _lazy_init"), 3),
        ((f"{SITE}/ray/_private/worker.py:9 main_loop", "/srv/actor.py:7 step", LAZY), 7),
        (("<stdin>:1 <module>", LAZY), None),
        (("<python-input-0>:8 main", "/usr/lib64/python3.14/multiprocessing/process.py:121 start"), 8),
        (("/opt/venv/bin/vllm:8 <module>", f"{SITE}/vllm/cli.py:73 main", LAZY), 73),
        (("C:\\v\\Scripts\\vllm.exe\\__main__.py:8 <module>", f"{SITE}/vllm/cli.py:73 main", LAZY), 73),
        ((f"{SITE}/onmt/bin/train.py:200 main", LAZY), 200),
        ((f"{HOME}/ray/train/loop.py:5 run", LAZY), 5),
        (("/ws/vllm/examples/a/offline.py:5 run", "/ws/vllm/vllm/engine/llm.py:9 make", LAZY), 5),
        (("/ws/app/cuda/kernels/ops.py:5 build", LAZY), 5),
        ((f"{SITE}/_pytest/main.py:323 _main", f"{SITE}/pytest_parallel/run.py:276 loop", START_OF_ONE), 276),
    ],
)
def test_the_guilty_line_is_the_innermost_of_the_outermost_owner(
    calls: tuple[str, ...], line: int | None
) -> None:
    found = roles.guilty(stack(START, *calls))
    assert (found.line if found is not None else None) == line


def test_what_the_parent_did_above_the_start_of_the_child_is_not_guilty() -> None:
    frames = stack("/srv/main.py:3 <module>", START, f"{SITE}/vllm/worker.py:8 init", LAZY)
    found = roles.guilty(frames)
    assert found is not None
    assert found.line == 8


def test_an_egg_is_called_after_the_package_in_it() -> None:
    (frame,) = stack(f"{SITE}/sarathi-0.1.7-py3.10-linux-x86_64.egg/sarathi/worker/base.py:93 init")
    assert roles.owner(frame) == "sarathi"


def test_several_libraries_in_one_folder_make_it_a_folder_of_packages() -> None:
    frames = stack(
        "/ws/app/finetune.py:162 train",
        "/ws/packs/transformers/training_args.py:1693 __post_init__",
        "/ws/packs/accelerate/state.py:790 set_device",
        "/ws/packs/torch/cuda/__init__.py:399 set_device",
    )
    folders = roles.package_folders(frames)
    assert folders == ("/ws/packs",)
    assert [roles.role(frame, folders) for frame in frames] == [
        Role.PROGRAM,
        Role.FRAMEWORK,
        Role.FRAMEWORK,
        Role.DEVICE,
    ]
    assert [(part.role, part.place.line) for part in roles.parts(frames)] == [
        (Role.PROGRAM, 162),
        (Role.FRAMEWORK, 790),
        (Role.DEVICE, 399),
    ]


def test_a_story_says_where_the_process_was_started() -> None:
    calls = (
        f'File "{SITE}/sslyze/scanner.py", line 118, in run',
        'File "/usr/lib/python3.12/multiprocessing/process.py", line 121, in start',
        'File "/usr/lib/python3.12/multiprocessing/popen_fork.py", line 71, in _launch',
        'File "/srv/work.py", line 4, in work',
        f'File "{SITE}/torch/cuda/__init__.py", line 305, in _lazy_init',
    )
    words = "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with"
    parts = only_story(raised(words, *calls)).parts
    assert [(part.role.value, part.place.line) for part in parts] == [
        ("fork", 118),
        ("program", 4),
        ("device", 305),
    ]
