"""Moving one of torch's modules to a device: it touches the device if the module holds a tensor, else not."""

from __future__ import annotations

from pathlib import Path

import pytest

from coldfork.knowledge.catalogue import load
from coldfork.model.effects import PROFILES
from tests.source.expectations import Setting, assert_as_expected

ELSEWHERE = Setting(runs=False)
PROGRAMS = {
    "torch's own modules": """
from torch import nn
from torch.nn import AvgPool2d as Pool

A = Pool(2).cuda()
B = nn.Dropout(0.5).eval().to("cuda")
C = nn.Linear(2, 2).cuda()  # expect: device-init-at-import
D = nn.Linear(2, 2).eval().half().cuda()  # expect: device-init-at-import
E = nn.CrossEntropyLoss(reduction="sum").cuda()
F = nn.CrossEntropyLoss(torch.ones(3)).cuda()  # expect: device-init-at-import
G = nn.InstanceNorm2d(3).cuda()
H = nn.InstanceNorm2d(3, affine=True).cuda()  # expect: device-init-at-import
""",
    "containers": """
from torch import nn

POOL = nn.AvgPool2d(2)
A = nn.Sequential(nn.ReLU(), POOL).cuda()
B = nn.Sequential(nn.ReLU(), nn.Linear(2, 2)).cuda()  # expect: device-init-at-import
C = nn.ModuleList([nn.ReLU() for _ in range(3)]).cuda()
D = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)]).cuda()  # expect: device-init-at-import
E = nn.ModuleDict({"a": nn.Sequential(nn.Linear(2, 2))}).cuda()  # expect: device-init-at-import
F = nn.Sequential(unknown()).cuda()  # expect: device-init-at-import conditional
G = nn.Sequential(nn.Sequential(nn.Flatten())).to("cuda")
""",
    "classes that derive from a module": """
import elsewhere
from torch import nn

class Loss(nn.Module):
    def forward(self, x):
        return x

class Layer(nn.Linear):
    pass

class Criterion(nn.L1Loss):
    pass

class Net(nn.Module):
    def __init__(self, inner=None):
        super().__init__()
        self.inner = inner
        self.scale = 2.0
        self.unregistered = [nn.Linear(2, 2)]

class Filled(nn.Module):
    def __init__(self, count):
        super().__init__()
        for number in range(count):
            self.add_module(f"layer{number}", nn.Linear(2, 2))

class Buffered(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("ones", torch.ones(3))

class Learning(Net):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

class Unread(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = elsewhere.make()

A = Loss().cuda()
B = Layer(2, 2).cuda()  # expect: device-init-at-import
C = Criterion().cuda()
D = Net().cuda()
E = Net(nn.ReLU()).eval().cuda()
F = Net(nn.Linear(2, 2)).eval().cuda()  # expect: device-init-at-import
G = Net(Net(Layer(2, 2))).to("cuda")  # expect: device-init-at-import
H = Filled(3).cuda()  # expect: device-init-at-import
I = Buffered().to(device="cuda")  # expect: device-init-at-import
J = Learning().cuda()  # expect: device-init-at-import
K = Unread().cuda()  # expect: device-init-at-import conditional
L = Learning().to(torch.float16)
M = Learning().state_dict()
""",
}
#: As much of torch's source as tells its modules apart.
BESIDE = """
### beside/torch/__init__.py
from torch import nn
from torch._C import Tensor, float16, ones
### beside/torch/nn/__init__.py
from torch.nn.modules import *
from torch.nn.parameter import Parameter
### beside/torch/nn/parameter.py
import torch

class Parameter(torch.Tensor):
    pass
### beside/torch/nn/modules/__init__.py
from .module import Module
from .others import *
### beside/torch/nn/modules/module.py
class Module:
    def __init__(self):
        super().__setattr__("_parameters", {})
        super().__setattr__("_modules", {})

    def _apply(self, fn):
        for module in self._modules.values():
            module._apply(fn)
        for param in self._parameters.values():
            fn(param)
        return self

    def cuda(self, device=None):
        return self._apply(lambda t: t.cuda(device))

    def to(self, *args, **kwargs):
        return self._apply(lambda t: t.to(*args, **kwargs))
### beside/torch/nn/modules/others.py
from .module import Module

"""
WITHOUT = "AvgPool2d CrossEntropyLoss Dropout Flatten InstanceNorm2d L1Loss ReLU"
OTHERS = f"{WITHOUT} Linear ModuleDict ModuleList Sequential"


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "its-source-beside"])
@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_a_module_is_moved_if_it_holds_anything(text: str, beside: bool, tmp_path: Path) -> None:
    text = f"### m.py\nimport torch\n{text.lstrip()}"
    if beside:
        text += BESIDE + "".join(f"class {name}(Module):\n    pass\n\n" for name in OTHERS.split())
    assert_as_expected(text, tmp_path, ELSEWHERE)


def test_torch_agrees_about_its_own_modules() -> None:
    nn = pytest.importorskip("torch").nn
    catalogue = load(PROFILES["cuda"], {})
    arguments: list[tuple[object, ...]] = [(), (2,), (2, 2), (2, 2, 2), (1, 2, 2), ((2, 2),), (1, (2, 2))]
    for name in dir(nn):
        cls = getattr(nn, name)
        if not (isinstance(cls, type) and issubclass(cls, nn.Module)):
            continue
        for given in arguments:
            try:
                made = cls(*given)
            except (AssertionError, TypeError, ValueError, Warning):
                continue
            empty = not [*made.parameters(), *made.buffers()]
            assert empty == (catalogue.returned(f"torch.nn.{name}") != "torch.nn.Module" or name == "Module")
            break
