"""Texts of which only the end is known: the files that an extension is built from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.expectations import Setting, assert_as_expected

PRELUDE = """import os
from pathlib import Path
from torch.utils import cpp_extension

here = os.path.dirname(__file__)
folder = Path(__file__).parent

def beside(name):
    return os.path.join(here, "csrc", name)

"""
WAKES = [
    'os.path.join(here, "a.cu")',
    'os.path.abspath(os.path.join(here, "a.cu"))',
    'str(Path(here) / "../src/a.cu")',
    'str(folder / "csrc" / "a.cu")',
    '(folder / "a.cuh").resolve().as_posix()',
    'f"{here}/a.cu"',
    'here + "/a.cu"',
    'beside("a.cu")',
    '*[os.path.join(here, name) for name in ["a.cpp", "a.cu"]]',
    'os.path.join("csrc", "a.cu")',
]


@pytest.mark.parametrize("written", WAKES)
def test_a_path_that_ends_so(written: str, tmp_path: Path) -> None:
    text = (
        f"import torch  # noqa\n{PRELUDE}"
        f'A = cpp_extension.load("a", ["a.cpp", {written}])  # expect: device-init-at-import\n'
        f'B = cpp_extension.load("b", ["b.cpp", {written.replace(".cuh", ".cpp").replace(".cu", ".cpp")}])\n'
    )
    text = text.replace("import cpp_extension", "import cpp_extension  # expect: waking-import conditional")
    assert_as_expected(text, tmp_path, Setting(runs=False))


@pytest.mark.parametrize("joined", ["FIRST + SECOND", "FIRST % SECOND"])
def test_many_alternatives_are_joined_as_a_whole(joined: str, tmp_path: Path) -> None:
    text = f"""import sys
import torch
import unknown

def one_of(x):
    if x == 1:
        return "%s a"
    if x == 2:
        return "%s b"
    return "%s c"

FIRST, SECOND = one_of(unknown.x), one_of(unknown.y)
NAME = {joined}
torch.cuda.synchronize()  # expect: device-init-at-import
"""
    assert_as_expected(text, tmp_path, Setting(runs=False))
