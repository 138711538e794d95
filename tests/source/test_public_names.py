"""A library's function is known by its public name, whatever its own decorators make of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.expectations import Setting, observe, write

#: As jax.numpy is written: functions behind a decorator that is not at hand, and objects that are called.
LIBRARY = {
    "jax/__init__.py": "",
    "jax/numpy/__init__.py": (
        "from jax._src.ufuncs import add as add, boundary as boundary, log as log, mgrid as mgrid, pi as pi\n"
        "from jax._src.ufuncs import float32 as float32, s_ as s_, zeros as zeros\n"
    ),
    "jax/_src/__init__.py": "",
    "jax/_src/ufuncs.py": """\
from jax._src.compiled import boundary, dtypes

class ufunc:
    def __init__(self, function):
        self.function = function
    def __call__(self, *given):
        return self.function(*given)

class Grid:
    def __getitem__(self, index):
        return index

@boundary(inline=True)
def log(x):
    return x

@ufunc
def add(x, y):
    return x

def zeros(shape):
    return shape

float32 = dtypes.scalar(32)
mgrid = Grid()
s_ = Grid()
pi = 3.14
""",
}


@pytest.mark.parametrize(
    ("line", "wakes"),
    [
        ("jnp.log(2.0)", True),
        ("jnp.add(1, 2)", True),
        ("add(1, 2)", True),
        ("jnp.zeros(3)", True),
        ("jnp.float32(1)", True),
        ("list(map(jnp.log, [1.0]))", True),
        ("jnp.log", False),
        ("jnp.add", False),
        ("jnp.float32", False),
        ("jnp.pi * 2", False),
        ("jnp.mgrid", False),
        ("jnp.s_[1]", False),
        ("[jnp.log, jnp.add]", False),
    ],
)
def test_what_is_called_under_a_public_name(tmp_path: Path, line: str, wakes: bool) -> None:
    write(LIBRARY, tmp_path / "beside")
    engine = f"import jax.numpy as jnp\nfrom jax.numpy import add\n\nX = {line}\n"
    write({"engine.py": engine}, tmp_path / "own")
    seen = observe([tmp_path / "own"], site_packages=tmp_path / "beside", setting=Setting(profile="jax-gpu"))
    assert [(effect.line, effect.verdict.value) for effect in seen.effects] == [(4, "certain")] * wakes
