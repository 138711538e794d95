"""`numba.cuda.jit` compiles at once for a signature, however that is written. numba is the judge.

Without a driver numba refuses what needs one: a statement that it refuses so must be reported as certain, and
one that it executes must not be reported.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.amounts import examples
from tests.source.expectations import Setting, answers_of, findings_of, lay_out

EXAMPLES = examples(60)
TOGETHER = 20

PRELUDE = """\
import functools
import numba
from functools import partial
from numba import cuda, float32, int32, types, void
from numba.core.typing import signature

def first(a):
    pass

def given(value):
    return value

KINDS = {"one": int32, "many": float32[:]}
"""

TYPES = (
    "int32",
    "float32[:]",
    "int32[::1]",
    "float32[:, ::1]",
    "numba.int64",
    "types.int32",
    "numba.types.Array(types.float64, 2, 'C')",
    "numba.typeof(1.5)",
    "KINDS['many']",
    "given(int32)",
)
SIGNATURES = (
    "({0},)",
    "void({0})",
    "types.void({0})",
    "numba.void({0})",
    "signature(types.none, {0})",
    "[({0},)]",
    "[void({0})]",
    "[({0},), (int32,)]",
    "'void(int32)'",
    "['void(int32)', 'void(float32[:])']",
    "given(void({0}))",
    "tuple([{0}])",
    "({0},) if KINDS else None",
)
MAKERS = (
    "cuda.jit({0})",
    "cuda.jit({0}, fastmath=True)",
    "cuda.jit(func_or_sig={0})",
    "partial(cuda.jit, {0})()",
    "given(cuda.jit)({0})",
)
LAZY = (
    "cuda.jit",
    "cuda.jit()",
    "cuda.jit(None)",
    "cuda.jit(device=True)",
    "cuda.jit(fastmath=True)",
    "partial(cuda.jit, device=True)",
    "partial(cuda.jit)",
    "numba.njit",
    "numba.njit(int32(int32))",
    "numba.vectorize([int32(int32)])",
    "numba.vectorize([int32(int32)], target='parallel')",
)
APPLIED = (
    "@{0}\ndef kernel(a):\n    pass",
    "S = {0}; kernel = S(first)",
    "kernel = {0}(first)",
    "class C:\n    @staticmethod\n    @{0}\n    def kernel(a):\n        pass",
)
OTHERS = (
    "S = cuda.jit('void(int32)')",
    "S = int32(3)",
    "S = cuda.declare_device('f', 'int32(int32)')",
    "S = cuda.jit(first)[1, 1]",
    "cuda.jit(first)[1, 1](3)",
    "cuda.jit(first).forall(3)(3)",
    "cuda.jit(device=True)(first).compile_device((int32,))",
    "S = cuda.reduce(lambda a, b: a + b)",
    "S = numba.vectorize([int32(int32)], target='cuda')(lambda a: a)",
)


def statement(draw: random.Random) -> str:
    """A statement that makes a kernel or a function, at once or later."""
    kind = draw.random()
    if kind < 0.2:
        return draw.choice(OTHERS)
    if kind < 0.45:
        made, applied = draw.choice(LAZY), draw.choice(APPLIED)
        return "cuda.jit(first)" if "njit" in made or "vectorize" in made else applied.format(made)
    made = draw.choice(MAKERS).format(draw.choice(SIGNATURES).format(draw.choice(TYPES)))
    return draw.choice(APPLIED).format(made)


ORACLE = """
import json, sys
from numba.cuda.cudadrv.error import CudaSupportError
prelude, *statements = json.load(sys.stdin)
answers = []
space = {}
exec(prelude, space)
for statement in statements:
    try:
        exec(statement, dict(space))
        answers.append("cold")
    except CudaSupportError:
        answers.append("warm")
    except Exception as problem:
        answers.append(repr(problem))
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def judged() -> tuple[list[str], list[str]]:
    """The statements, and what numba says of each."""
    pytest.importorskip("numba")
    draw = random.Random(20261124 + EXAMPLES)
    statements = [statement(draw) for _ in range(EXAMPLES)]
    return statements, answers_of(
        ORACLE, [PRELUDE, *statements], {"NUMBA_CUDA_DRIVER": "0", "CUDA_VISIBLE_DEVICES": ""}
    )


@pytest.mark.once
@pytest.mark.parametrize("beside", [False, True], ids=["without-numba", "with-its-source"])
def test_what_numba_compiles_at_once_is_reported(
    beside: bool, judged: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    numba = pytest.importorskip("numba")
    statements, answers = judged
    places = []
    for number in range(0, EXAMPLES, TOGETHER):
        name, text = f"m{number}.py", PRELUDE
        for one in statements[number : number + TOGETHER]:
            start = text.count("\n") + 1
            text += f"{one}\n"
            places.append((name, range(start, text.count("\n") + 1)))
        lay_out(f"### {name}\n{text}", tmp_path)
    if beside:
        # Numba alone with what it imports: following cffi's parser takes longer than a module is given.
        (tmp_path / "beside").mkdir()
        for name in ("cffi", "llvmlite", "numba", "numpy", "pycparser"):
            source = Path(numba.__file__).parent.parent / name
            if source.exists():
                (tmp_path / "beside" / name).symlink_to(source)
    told: dict[tuple[str, int], str] = {}
    for finding in findings_of(tmp_path, Setting(runs=False)):
        told[finding.path, finding.line or 0] = finding.verdict.value
    wrong = []
    for (name, lines), text, answer in zip(places, statements, answers, strict=True):
        said = {told[name, line] for line in lines if (name, line) in told}
        if said != ({"certain"} if answer == "warm" else set()) or answer not in ("warm", "cold"):
            wrong.append(f"{answer}, and {said or 'nothing'} was said:\n{text}")
    assert not wrong, "\n".join(wrong)
    assert 0.2 < answers.count("warm") / len(answers) < 0.8
