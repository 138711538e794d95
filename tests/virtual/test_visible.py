"""CUDA_VISIBLE_DEVICES, read by the driver in Python, by the driver in C, and by torch."""

from __future__ import annotations

import shutil

import pytest

from coldfork.virtual.driver import uuid_of, visible
from tests.amounts import examples
from tests.virtual.conftest import Run

_FIRST, _SECOND = f"GPU-{uuid_of(0)}", f"GPU-{uuid_of(1)}"

CASES = [
    (None, (0, 1)),
    ("", ()),
    ("0", (0,)),
    ("1,0", (1, 0)),
    (" 1 , 0", (1, 0)),
    ("+1", (1,)),
    ("1gpu,0", (1, 0)),
    ("-1", ()),
    ("0,-1,1", (0,)),
    ("0,,1", (0,)),
    ("0,2,1", (0,)),
    ("2", ()),
    ("0,0", ()),
    ("0,5,5", ()),
    ("NoDevFiles", ()),
    ("none", ()),
    (_SECOND, (1,)),
    (f"{_SECOND},{_FIRST}", (1, 0)),
    ("GPU-c01df001", (1,)),
    ("GPU-c01df0", ()),
    (f"{_FIRST},0", (0,)),
    (f"0,{_SECOND}", (0,)),
    (f"{_FIRST},{_FIRST}", ()),
    (f"{_FIRST},GPU-9,GPU-9", ()),
    (f"{_FIRST},0,{_FIRST}", (0,)),
    ("0,99999,99998", (0,)),
    ("GPU-00000000", ()),
    (f"MIG-{uuid_of(0)}", ()),
]


@pytest.mark.parametrize(("setting", "seen"), CASES)
def test_the_driver_in_python_reads_it(setting: str | None, seen: tuple[int, ...]) -> None:
    assert visible(setting, 2) == seen


@pytest.mark.skipif(not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="there is no C compiler")
def test_the_driver_in_c_reads_it_the_same(run: Run) -> None:
    program = run(
        f"""
import os
import coldfork.virtual
from coldfork.virtual.installation import _PROCESS
coldfork.virtual.install("h100", 2)
driver = _PROCESS.machine.driver
for number, setting in enumerate({[setting for setting, _ in CASES]!r}):
    if os.fork() == 0:
        os.environ.pop("CUDA_VISIBLE_DEVICES", None)
        if setting is not None:
            os.environ["CUDA_VISIBLE_DEVICES"] = setting
        code = driver.initialise()
        tell(**{{str(number): [code, driver.visible()]}})
        os._exit(0)
    os.wait()
"""
    )
    expected = {str(number): [0 if seen else 100, list(seen)] for number, (_, seen) in enumerate(CASES)}
    assert program.told == expected


def test_torch_reads_random_settings_the_same(run: Run) -> None:
    pytest.importorskip("torch")
    program = run(
        f"""
import os, random, warnings
import coldfork.virtual
from coldfork.virtual.driver import visible
coldfork.virtual.install("h100", 3)
import torch
random.seed(5)
pieces = ["0", "1", "2", "3", "12", "-1", "-0", "+2", "", " ", " 1", "x", "2x",
          "{_FIRST}", "{_SECOND}", "GPU-", "GPU-c01df002", "GPU-c01df0", "GPU-f"]
different = []
for _ in range({examples(40)}):
    setting = ",".join(random.choices(pieces, k=random.randint(1, 4)))
    os.environ["CUDA_VISIBLE_DEVICES"] = setting
    if torch.cuda.device_count() != len(visible(setting, 3)):
        different.append([setting, torch.cuda.device_count(), visible(setting, 3)])
tell(different=different, initialised=torch.cuda.is_initialized())
"""
    )
    assert program.told == {"different": [], "initialised": False}
