"""What captured code does where much is unknown: what may happen is reported, and not as certain."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.test_captured_calls import reported

pytestmark = pytest.mark.once

#: Programs, each with the lines that may read a tensor under capture and how sure that is.
UNKNOWN = {
    "a base that a function makes": (
        """
import torch

def make():
    class Made:
        pass
    return Made

class Base(make()):
    pass

class Right:
    def forward(self, y):
        return y.sum().item()

class Model(Base, Right):
    pass

def capture():
    y = torch.zeros(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        Model().forward(y)
""",
        {13: "conditional"},
    ),
    "a base from elsewhere": (
        """
import torch
from elsewhere import Base

class Right:
    def forward(self, y):
        return y.sum().item()

class Model(Base, Right):
    pass

def capture():
    y = torch.zeros(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        Model().forward(y)
""",
        {6: "conditional"},
    ),
    "a module of torch's before a class of ours": (
        """
import torch

class Right:
    def finish(self, y):
        return y.sum().item()

class Model(torch.nn.Module, Right):
    pass

def capture():
    y = torch.zeros(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        Model().finish(y)
""",
        {5: "certain"},
    ),
    "a result that may be None": (
        """
import torch

def some(y, flag):
    if flag:
        return None
    return y

def capture(flag):
    y = torch.zeros(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        some(y, flag).item()
""",
        {11: "certain"},
    ),
    "a result that may be one of two": (
        """
import torch

def some(y, flag):
    if flag:
        return y
    return y.abs()

def capture(flag):
    y = torch.zeros(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        some(y, flag).item()
""",
        {11: "possible"},
    ),
    "a star of which nothing is known": (
        """
import torch

def step(y, flag=True, other=False):
    if not flag:
        return y.sum().item()
    if other:
        return y.max().item()
    return y

def capture(flags):
    y = torch.zeros(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        step(y, *flags)
""",
        {5: "conditional", 7: "conditional"},
    ),
    "a double star of which nothing is known": (
        """
import torch

def step(y, flag=True, /, *, other=False):
    if not flag:
        return y.sum().item()
    if other:
        return y.max().item()
    return y

def capture(options):
    y = torch.zeros(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        step(y, **options)
""",
        {7: "conditional"},
    ),
    "a list that other code may change": (
        """
import torch
from elsewhere import change

def step(y, flag):
    if not flag:
        return y.sum().item()
    return y.max().item()

def capture():
    y = torch.zeros(4, device="cuda")
    args = [y, True]
    change(args)
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        step(*args)
""",
        {6: "possible", 7: "possible"},
    ),
    "a dictionary that is changed in one case": (
        """
import torch

def step(y, flag=True):
    if not flag:
        return y.sum().item()
    return y.max().item()

def capture(eager):
    y = torch.zeros(4, device="cuda")
    options = {}
    if eager:
        options["flag"] = False
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        step(y, **options)
""",
        {5: "conditional", 6: "conditional"},
    ),
    "a list that grows in a loop": (
        """
import torch

def step(y, flag, last=False):
    if last:
        return y.sum().item()
    return y

def capture():
    y = torch.zeros(4, device="cuda")
    flags = []
    for index in range(2):
        flags.append(True)
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        step(y, *flags)
""",
        {5: "conditional"},
    ),
    "a subject of which nothing is known": (
        """
import torch

def step(y, mode):
    match mode:
        case "a":
            return y.sum().item()
        case {"b": _}:
            return y.max().item()
        case [1, *_] | str():
            return y.min().item()
        case _:
            return y.mean().item()

def capture(mode):
    y = torch.zeros(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        step(y, mode)
""",
        {6: "conditional", 8: "conditional", 10: "conditional", 12: "conditional"},
    ),
    "an attribute of a number": (
        """
import torch

def capture():
    y = torch.zeros(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        match 1:
            case int(real=1):
                y.sum().item()
""",
        {8: "conditional"},
    ),
    "a guard of which nothing is known": (
        """
import torch

def step(y, flag):
    match "a":
        case "a" if flag:
            return y.sum().item()
        case "a":
            return y.max().item()
        case _:
            return y.min().item()

def capture(flag):
    y = torch.zeros(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        step(y, flag)
""",
        {6: "conditional", 8: "conditional"},
    ),
    "a case that compares a tensor": (
        """
import torch

def capture():
    y = torch.zeros(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        match y:
            case 1:
                pass
            case 2:
                pass
""",
        {6: "certain"},
    ),
    "a guard behind a case that may match": (
        """
import torch

def step(y, mode):
    match mode:
        case "a":
            return y
        case _ if y.sum().item() > 0:
            return y

def capture(mode):
    y = torch.zeros(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        step(y, mode)
""",
        {7: "conditional"},
    ),
}


@pytest.mark.parametrize(
    ("source", "wanted"), UNKNOWN.values(), ids=[name.replace(" ", "-") for name in UNKNOWN]
)
def test_what_is_not_known_is_neither_silent_nor_certain(
    source: str, wanted: dict[int, str], tmp_path: Path
) -> None:
    assert reported(source, tmp_path) == wanted
