"""Small programs that name a device, make tensors out of tensors, or set the default device.

Each is a module of its own. What importing it does on a machine with a GPU was asked of torch, by `coldfork
probe --virtual h100`; a test asks again for a few of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

PRELUDE = """\
import os
import torch
import torch.nn.functional as F
from torch import nn
import numpy as np

i = os.getpid() * 0
rank = int(os.environ.get("NO_SUCH_RANK", 0))
kind = "cuda"
stem = "cuda:"


def same(thing):
    return thing


def device_of(index):
    return "cuda:" + str(index)


class Named:
    def __init__(self, index):
        self.device = f"cuda:{index}"
        self.index = index


"""

#: Places of an expression that an import evaluates.
PLACES = (
    "A = {}",
    "def f():\n    return {}\nA = f()",
    "class K:\n    held = {}",
    "def f(held={}):\n    pass",
    "A = [{} for _ in (1,)]",
    "A = (lambda: {})()",
    "with torch.no_grad():\n    A = {}",
    "if i == 0 or i != 0:\n    pass\nA = ({}, 1)[0]",
)

DEVICES = (
    'f"cuda:{i}"',
    'f"{kind}:{i}"',
    'f"{stem}{i}"',
    'f"cuda:{rank}"',
    'f"cuda:{i:d}"',
    'f"cuda:{i!r}"',
    '"cuda:%d" % i',
    '"cuda:%s" % (i,)',
    '"%s:%d" % (kind, i)',
    '"cuda:%(n)d" % {"n": i}',
    '"cuda:" + str(i)',
    'kind + ":" + str(i)',
    '"cuda:{}".format(i)',
    '"{}:{}".format(kind, i)',
    '"{0}:{1}".format("cuda", i)',
    '"{k}:{n}".format(k=kind, n=i)',
    '"cuda:{:d}".format(i)',
    '"".join(["cuda:", str(i)])',
    '":".join(("cuda", str(i)))',
    '":".join([kind, *[str(i)]])',
    'f"CUDA:{i}".lower()',
    'f" cuda:{i}".strip()',
    'f"xpu:{i}".replace("xpu", "cuda")',
    'f"gpu-cuda:{i}".removeprefix("gpu-")',
    'f"cuda:{i}".split(":")[0]',
    'f"cuda:{i}".partition(":")[0]',
    "device_of(i)",
    "same(device_of(i))",
    "Named(i).device",
    'dict(device=f"cuda:{i}")["device"]',
    '[f"cuda:{n}" for n in range(i + 1)][0]',
    'f"cuda:{i}" if i == 0 else f"cuda:{i}"',
    'str(torch.device(f"cuda:{i}"))',
    'torch.device(f"cuda:{i}").type',
    'torch.device("cuda", i)',
    'torch.device(type="cuda", index=i)',
    "torch.device(kind, index=i)",
    'torch.device(torch.device(f"cuda:{i}"))',
    'f"{torch.device(kind)}:{i}"',
    'torch.device("cuda:{}".format(i))',
    "torch.accelerator.current_accelerator()",
    "torch.accelerator.current_accelerator().type",
)
USES = (
    "torch.zeros(1, device={})",
    "torch.zeros(1).to({})",
    "torch.zeros(1).to(device={})",
    "torch.zeros(1).to(torch.device({}))",
    "nn.Linear(1, 1).to({})",
    "nn.Linear(1, 1, device={})",
)

TENSORS = (
    "torch.zeros(1).half()",
    "torch.randn(3).view(1, 3)",
    "(torch.zeros(1) + 1)",
    "(1 - torch.zeros(1))",
    "(-torch.zeros(1))",
    "(~torch.zeros(1, dtype=torch.bool))",
    "(torch.zeros(2) @ torch.zeros(2))",
    "(torch.zeros(2) > 0)",
    "(torch.zeros(2) == torch.zeros(2))",
    "torch.zeros(4)[0]",
    "torch.zeros(4)[1:2]",
    "torch.zeros(4, 4)[:, 0]",
    "torch.zeros(4)[None]",
    "torch.zeros(2, 2).T",
    "torch.zeros(2, 2).mT",
    "torch.zeros(1).data",
    "torch.zeros(1, dtype=torch.cfloat).real",
    "torch.cat([torch.ones(1), torch.zeros(1)])",
    "torch.stack([torch.ones(1), torch.zeros(1)])",
    "torch.sqrt(torch.ones(1))",
    "torch.randn_like(torch.ones(1))",
    "F.pad(torch.ones(1), (1, 1))",
    "F.relu(torch.ones(1))",
    "torch.nn.functional.softmax(torch.ones(2), dim=0)",
    "torch.linalg.inv(torch.eye(2))",
    "torch.fft.fft(torch.ones(2))",
    "torch.special.expit(torch.ones(2))",
    "torch.einsum('i,i->i', torch.ones(2), torch.ones(2))",
    "torch.FloatTensor([1.0])",
    "torch.Tensor([1.0])",
    "torch.tensor([1.0])",
    "torch.as_tensor([1.0])",
    "torch.from_numpy(np.zeros(1))",
    "torch.frombuffer(bytearray(4), dtype=torch.float32)",
    "torch.zeros(2, 2).max(dim=0).values",
    "torch.zeros(2, 2).max()",
    "torch.max(torch.zeros(2, 2), 0)[0]",
    "torch.topk(torch.zeros(4), 2).indices",
    "torch.zeros(2, 2).sum(0).mean().reshape(1)",
    "torch.zeros(4).split(2)[0]",
    "torch.zeros(4).chunk(2)[1]",
    "torch.zeros(2).unbind()[0]",
    "torch.zeros(2).clone().detach().contiguous()",
    "torch.zeros(2).requires_grad_()",
    "torch.zeros(2).cpu()",
    "torch.zeros(2).to(torch.float16)",
    "torch.where(torch.zeros(2) > 0, 1.0, 2.0)",
    "sum([torch.zeros(1), torch.zeros(1)])",
    "nn.Parameter(torch.zeros(1))",
    "nn.Parameter(torch.zeros(1)).data",
    "torch.zeros(1).new_zeros(3)",
    "same(torch.zeros(1).double())",
    "torch.empty(2).fill_(1.0).mul_(2)",
    'torch.zeros(1, device="meta")',
)
MOVES = ("{}.cuda()", '{}.to("cuda")', '{}.to(device="cuda:0")', "{}.to(torch.device(kind))")

COLD = (
    'print(f"cuda:{i}")',
    'A = f"cuda:{i}"',
    'A = torch.device(f"cuda:{i}")',
    'A = torch.zeros(1, device=f"cpu:{i}")',
    'A = torch.zeros(1).to(f"cpu:{i}")',
    'A = torch.zeros(1).to("cpu").to("meta")',
    "A = torch.zeros(1).half().to(torch.float64)",
    "A = torch.zeros(1).half().to(torch.zeros(1))",
    'if f"cuda:{i}" == "cpu":\n    torch.cuda.init()',
    'if f"cuda:{i}" is None:\n    torch.cuda.init()',
    'if f"cuda:{i}".startswith("cpu"):\n    torch.cuda.init()',
    'if not f"cuda:{i}".startswith(("cuda", "xpu")):\n    torch.cuda.init()',
    'if f"cuda:{i}" in ("cpu", "mps"):\n    torch.cuda.init()',
    'if f"cuda:{i}" in {"cpu": 1}:\n    torch.cuda.init()',
    'if not f"cuda:{i}":\n    torch.cuda.init()',
    'if "cuda" not in f"cuda:{i}":\n    torch.cuda.init()',
    'if f"cuda:{i}".split(":")[0] != "cuda":\n    torch.cuda.init()',
    'if not isinstance(f"cuda:{i}", str):\n    torch.cuda.init()',
    'if torch.device(f"cuda:{i}").type != "cuda":\n    torch.cuda.init()',
    'open(os.devnull, "w").write(f"cuda_{i}")',
    'A = {f"cuda_{i}": 1}.get(f"cuda_{i}")',
    "A = np.zeros(3).reshape(1, 3)[0]",
    "A = torch.zeros(3).numpy().copy()",
    "A = torch.zeros(3).tolist()",
    "A = torch.zeros(3).sum().item() + 1",
    "A = torch.zeros(3).shape[0]",
    'A = "%s" % torch.zeros(1)',
    "A = torch.cat([torch.zeros(1)]).float()",
    'A = nn.ReLU().to(f"cuda:{i}")',
    "A = torch.accelerator.current_accelerator()",
    'torch.set_default_device("cuda")',
    'torch.set_default_device("cuda")\nA = torch.zeros(1, device="cpu")',
    'torch.set_default_device("cuda")\nA = torch.zeros(1, device="meta")',
    'torch.set_default_device("cuda")\nA = torch.from_numpy(np.zeros(1))',
    'torch.set_default_device("cuda")\nA = torch.FloatTensor([1.0])',
    'torch.set_default_device("cuda")\nA = torch.zeros_like(torch.zeros(1, device="cpu"))',
    'torch.set_default_device("cuda")\nA = nn.ReLU()',
    'torch.set_default_device("cuda")\nA = nn.Parameter(torch.zeros(1, device="cpu"))',
    'torch.set_default_device("cuda")\ntorch.set_default_device(None)\nA = torch.zeros(1)',
    'torch.set_default_device("cuda")\ntorch.set_default_device("cpu")\nA = torch.zeros(1)',
    'torch.set_default_device("cuda")\nwith torch.device("cpu"):\n    A = torch.zeros(1)',
    'with torch.device("cuda"):\n    pass\nA = torch.zeros(1)',
    'with torch.device("meta"):\n    A = nn.Linear(2, 2)',
    'with torch.device("cuda"):\n    with torch.device("meta"):\n        A = torch.zeros(1)',
    'torch.set_default_device("cuda:0")\nA = torch.get_default_device()',
    "A = torch.get_default_device()\nB = torch.zeros(1, device=A)",
)
DEFAULTS = (
    'torch.set_default_device("cuda")\n{}',
    'torch.set_default_device(f"cuda:{{i}}")\n{}',
    'torch.set_default_device(torch.device("cuda", i))\n{}',
    "torch.set_default_device(device=kind)\n{}",
    "torch.set_default_device(torch.accelerator.current_accelerator())\n{}",
    'def f():\n    torch.set_default_device("cuda")\nf()\n{}',
    'torch.set_default_device("cpu")\ntorch.set_default_device("cuda")\n{}',
    'with torch.device("cuda"):\n    {}',
    'with torch.device(f"cuda:{{i}}"):\n    {}',
    "device = torch.device(kind)\nwith torch.no_grad(), device:\n    {}",
    'with torch.device("cuda"):\n    with torch.device("cpu"):\n        pass\n    {}',
    'torch.set_default_device("cuda")\nwith torch.device("cpu"):\n    pass\n{}',
)
FACTORIES = (
    "A = torch.zeros(2)",
    "A = torch.tensor([1.0])",
    "A = torch.randn(2, dtype=torch.float16)",
    "A = torch.arange(3)",
    "A = torch.as_tensor([1.0])",
    "A = torch.zeros(1, device=None)",
    "A = nn.Linear(2, 2)",
    "A = nn.Sequential(nn.ReLU(), nn.LayerNorm(2))",
    "A = torch.zeros(1, device=torch.get_default_device())",
)


@dataclass(frozen=True, slots=True)
class Program:
    """The body of a module, and whether importing it creates a context."""

    body: str
    wakes: bool

    @property
    def text(self) -> str:
        """The whole module."""
        return f"{PRELUDE}{self.body}\n"


def programs() -> list[Program]:
    """All of them, always in this order: each spelling stands in some place."""
    bodies = []
    for many, uses in ((DEVICES, USES), (TENSORS, MOVES)):
        for number, (use, expression) in enumerate(product(uses, many)):
            bodies.append(PLACES[number % len(PLACES)].format(use.format(expression)))
    bodies += [default.format(factory) for default, factory in product(DEFAULTS, FACTORIES)]
    return [Program(body, True) for body in bodies] + [Program(body, False) for body in COLD]
