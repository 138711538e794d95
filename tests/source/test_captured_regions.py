"""What counts as captured, what captured code may not do, and what stays unsaid."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.capturing import check

pytestmark = pytest.mark.once

HEAD = "import torch\n\n\n"
SYNC = "# expect: sync-in-captured-region"
LAZY = "# expect: lazy-init-in-captured-region"
STATE = "# expect: capture-reuses-warmup-state"
COLD = "# expect: capture-before-warmup"

#: Ways to capture a call of `forward(x)`, the line that captures marked with @.
REGIONS = {
    "with": """
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  @
        forward(x)
""",
    "with several items": """
    graph = torch.cuda.CUDAGraph()
    with (
        torch.no_grad(),
        torch.cuda.graph(graph, pool=None),  @
    ):
        forward(x)
""",
    "begin and end": """
    graph = torch.cuda.CUDAGraph()
    graph.capture_begin()  @
    forward(x)
    graph.capture_end()
    x.item()
""",
    "a stack": """
    from contextlib import ExitStack

    graph = torch.cuda.CUDAGraph()
    with ExitStack() as stack:
        stack.enter_context(torch.cuda.graph(graph))  @
        forward(x)
    x.item()
""",
    "an alias": """
    from torch.cuda import graph as recorded

    with recorded(torch.cuda.CUDAGraph()):  @
        forward(x)
""",
    "an import from where it is defined": """
    from torch.cuda.graphs import graph

    with graph(torch.cuda.CUDAGraph()):  @
        forward(x)
""",
    "a device module": """
    device_module = torch.get_device_module(x.device)
    with device_module.graph(cuda_graph=torch.cuda.CUDAGraph()):  @
        forward(x)
""",
    "graphed callables": """
    return torch.cuda.make_graphed_callables(forward, (x,))  @
""",
    "ours": """
    from coldfork.graphs import GraphManager

    def create(descriptor, phase):
        return (lambda mode: forward(x)), None

    return GraphManager("cuda").capture(create, [1])  @
""",
}


@pytest.mark.parametrize("how", REGIONS)
def test_every_way_to_capture_is_one(how: str, tmp_path: Path) -> None:
    forward = "def forward(x):\n    torch.cuda.synchronize()\n    return x\n\n\n"
    captured = REGIONS[how].replace("@", SYNC)
    check(f"{HEAD}{forward}def capture(x: torch.Tensor):\n    forward(x)\n{captured}", tmp_path)


#: What captured code does with `x`, a tensor of which only that is known, and `y`, one on the GPU.
HOST = {
    "torch.cuda.synchronize()": "certain",
    "torch.accelerator.synchronize()": "certain",
    "torch.cuda.current_stream().synchronize()": "certain",
    "torch.cuda.Stream().synchronize()": "conditional",
    "torch.cuda.Event().synchronize()": "conditional",
    "y.item()": "certain",
    "y.tolist()": "certain",
    "y.cpu()": "certain",
    "y.sum().cpu().numpy()": "certain",
    "y.numpy()": "certain",
    'y.to("cpu")': "certain",
    "y.nonzero()": "certain",
    "y[y > 0]": "certain",
    "torch.nonzero(y)": "certain",
    "torch.unique(y)": "certain",
    "torch.equal(y, y)": "certain",
    "int(y)": "certain",
    "float(y.max())": "certain",
    "bool(y.any())": "certain",
    "print(y)": "certain",
    'f"{y}"': "certain",
    "x.item()": "conditional",
    "(x == 1).all().item()": "conditional",
    "torch.nn.functional.relu(x).tolist()": "conditional",
    "torch.zeros(4).item()": "conditional",
    "x.cuda().item()": "certain",
    'x.to("cuda").item()': "certain",
    "unknown.item()": "possible",
    "unknown.values.tolist()": "possible",
}
ALLOWED = (
    "y.shape[0]",
    "y.size(0)",
    "len(y)",
    "y + 1",
    "y.copy_(x)",
    'y.to("cpu", non_blocking=True)',
    "y.to(torch.float16)",
    "y[0]",
    "y[x]",
    "torch.where(y > 0, y, x)",
    'torch.zeros(4, device="cpu").tolist()',
    "x.cpu_lengths.tolist()",
    "unknown.items()",
    "print(y.shape)",
    "torch.cuda.current_stream().wait_stream(torch.cuda.Stream())",
    "y.record_stream(torch.cuda.current_stream())",
    "numpy.zeros(4).item()",
)


HELPERS = """

def checked(y, check=None):
    if check:
        return y.item()
    return y


def capturing():
    return torch.cuda.is_available() and torch.cuda.is_current_stream_capturing()


def optional(x: torch.Tensor | None, y):
    if x is None:
        return y.item()
    return y
"""


def captured(line: str, expectation: str) -> str:
    """A file whose captured code runs a line, with `unknown` out of nowhere."""
    return f"""
import numpy
import torch


def forward(x: torch.Tensor, unknown):
    y = torch.zeros(4, device="cuda")
    {line}
    return y


def capture(x: torch.Tensor, unknown):
    forward(x, unknown)
    with torch.cuda.graph(torch.cuda.CUDAGraph()):  {expectation}
        forward(x, unknown)
"""


@pytest.mark.parametrize("line", HOST)
def test_what_the_host_waits_for_is_found(line: str, tmp_path: Path) -> None:
    check(captured(line, f"{SYNC} {HOST[line]}"), tmp_path)


@pytest.mark.parametrize("line", ALLOWED)
def test_what_the_host_does_not_wait_for_is_not(line: str, tmp_path: Path) -> None:
    check(captured(line, ""), tmp_path)


@pytest.mark.parametrize(
    ("test", "verdict"),
    [
        ("if y.any():\n        pass", "certain"),
        ("if unknown.debug:\n        y.item()", "conditional"),
        ("if unknown.eager:\n        return y\n    y.item()", "conditional"),
        ("if unknown.bad:\n        raise ValueError\n    y.item()", "certain"),
        ("for one in unknown:\n        y.item()", "conditional"),
        ("for _ in range(3):\n        y.item()", "certain"),
        ("assert y.item() > 0", "certain"),
        ("optional(unknown, y)", "conditional"),
        ("n = y.item() if unknown else 0", "conditional"),
        ("n = unknown and y.item()", "conditional"),
        ("with torch.no_grad():\n        y.item()", "certain"),
        ("n = [one.item() for one in (y, y)]", "certain"),
        ("try:\n        unknown()\n    except ValueError:\n        y.item()", "conditional"),
        ('match unknown:\n        case "a":\n            y.item()', "conditional"),
        ('match unknown:\n        case "a":\n            return y\n    y.item()', "conditional"),
    ],
)
def test_the_way_decides_how_sure_it_is(test: str, verdict: str, tmp_path: Path) -> None:
    check(captured(test, f"{SYNC} {verdict}") + HELPERS, tmp_path)


@pytest.mark.parametrize(
    "guard",
    [
        "if not torch.cuda.is_current_stream_capturing():\n        y.item()",
        "if torch.cuda.is_current_stream_capturing():\n        return y\n    y.item()",
        "if torch.compiler.is_compiling():\n        y.item()",
        "if capturing():\n        raise ValueError\n    y.item()",
        "if x is None:\n        y.item()",
        "if y is None:\n        y.item()",
        "optional(x, y)",
        "if isinstance(y, torch.Tensor):\n        return y\n    y.item()",
        'if y.device.type == "cpu":\n        y.item()',
        "if not unknown.is_cuda:\n        y.item()",
        "checked(y, False)",
        "checked(y, check=False)",
        "checked(y)",
        "def later():\n        return y.item()",
        "later = lambda: y.item()",
    ],
)
def test_what_does_not_run_under_capture_is_not_said(guard: str, tmp_path: Path) -> None:
    check(captured(guard, "") + HELPERS, tmp_path)


def test_a_value_read_before_the_capture_is_nobodys_trouble(tmp_path: Path) -> None:
    check(
        f"""{HEAD}
def capture(forward, x: torch.Tensor):
    longest = x.max().item()
    forward(x, longest)
    torch.cuda.synchronize()
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        y = forward(x, longest)
    torch.cuda.synchronize()
    return y.item()
""",
        tmp_path,
    )


#: A class that captures its own forward, which does something lazily; @ where the capture is.
RUNNER = """
import torch


class Runner:
    def __init__(self):
        self.plan = None
        self._ready = False
        self.plans = {{}}
        self.lengths = torch.zeros(4, device="cuda")

    def forward(self, x, lengths):
        {body}
        return x + self.plan + self._plan + self.plans[4] + self.lengths

    def capture(self, x, lengths):
        self.forward(x, lengths)
        with torch.cuda.graph(torch.cuda.CUDAGraph()):  {expectation}
            self.forward(x, lengths)
"""
LAZILY = {
    "if not self._ready:\n            torch.cumsum(lengths, 0, out=self.lengths)\n"
    "            self._ready = True": "certain",
    "if not self._ready:\n            self.lengths.copy_(lengths)\n            self._ready = True": "certain",
    "if self.plan is None:\n            plan = torch.empty(4)\n            kernel[4](lengths, plan)\n"
    "            self.plan = plan": "certain",
    "if self.plan is None:\n            self.plan, self.parts = lengths.cumsum(0), 4": "certain",
    "if self.plan is None:\n            self.plan = torch.cumsum(lengths, 0)": "certain",
    "if not self._ready:\n            self.plan = lengths.cumsum(0)\n"
    "            self._ready = True": "certain",
    'if not hasattr(self, "_plan"):\n            self._plan = lengths.cumsum(0)': "certain",
    'if getattr(self, "_plan", None) is None:\n            self._plan = lengths.cumsum(0)': "certain",
    "if 4 not in self.plans:\n            self.plans[4] = lengths.cumsum(0)": "certain",
    "if self.plans.get(4) is None:\n            self.plans[4] = lengths.cumsum(0)": "certain",
    "plan = self.plan\n        if plan is None:\n            self.plan = lengths.cumsum(0)": "certain",
    "if self.plan is None:\n            self.make(lengths)": "certain",
    "self.prepare(lengths)": "certain",
    "if self.plan is None and x.ndim:\n            self.plan = lengths.cumsum(0)": "conditional",
    "if self.plan is None:\n            self.plan = self.lengths.cumsum(0)": "conditional",
}
STEADY = (
    "if 4 not in self.plans:\n            self.plans[4] = self.tune(lengths)",
    "if 4 not in self.plans:\n            self.plans[4] = compiled(lengths.cumsum(0))",
    "if self.plan is None:\n            self.plan = torch.arange(4)",
    "if self.plan is None:\n            self.plan = torch.empty(x.shape[0], device=x.device)",
    "if self.plan is None:\n            self.plan = 4",
    "self.plan = torch.cumsum(lengths, 0)",
    "if self.plan is None:\n            return torch.cumsum(lengths, 0)",
    "if x.ndim == 2:\n            self.plan = torch.cumsum(lengths, 0)",
)
METHODS = """
    def make(self, lengths):
        self.plan = torch.cumsum(lengths, 0)

    def tune(self, lengths):
        y = torch.cumsum(lengths, 0).add_(lengths)
        kernel[4](y)
        return len(y), "fastest"

    def prepare(self, lengths):
        if self._ready:
            return
        self.plan = torch.cumsum(lengths, 0)
        self._ready = True
"""


@pytest.mark.parametrize("body", LAZILY)
def test_work_of_the_first_run_that_the_object_keeps_is_found(body: str, tmp_path: Path) -> None:
    check(RUNNER.format(body=body, expectation=f"{LAZY} {LAZILY[body]}") + METHODS, tmp_path)


@pytest.mark.parametrize("body", STEADY)
def test_work_that_is_the_same_for_every_batch_is_not(body: str, tmp_path: Path) -> None:
    check(RUNNER.format(body=body, expectation="") + METHODS, tmp_path)


def test_without_a_warm_up_in_sight_it_hangs_on_an_earlier_run(tmp_path: Path) -> None:
    body = "if self.plan is None:\n            self.plan = torch.cumsum(lengths, 0)"
    text = RUNNER.format(body=body, expectation=f"{LAZY} conditional")
    unwarmed = text.replace("        self.forward(x, lengths)\n        with", "        with")
    (finding,) = check(unwarmed, tmp_path)
    assert finding.condition == "self.plan was set before the capture"


def test_a_flag_that_is_reset_before_the_capture_is_right(tmp_path: Path) -> None:
    body = "if self.plan is None:\n            self.plan = torch.cumsum(lengths, 0)"
    text = RUNNER.format(body=body, expectation="")
    check(text.replace("        with torch", "        self.plan = None\n        with torch"), tmp_path)


def test_a_global_flag_outlives_everything(tmp_path: Path) -> None:
    check(
        f"""{HEAD}
_plan = None


def forward(x, lengths):
    global _plan
    if _plan is None:
        _plan = torch.cumsum(lengths, 0)
    return x + _plan


def capture(x, lengths):
    forward(x, lengths)
    with torch.cuda.graph(torch.cuda.CUDAGraph()):  {LAZY}
        forward(x, lengths)
""",
        tmp_path,
    )


def test_arms_that_exclude_each_other_are_not_both_taken(tmp_path: Path) -> None:
    check(
        f"""{HEAD}
class Runner:
    def forward(self, x, metadata):
        if metadata.plan is None:
            metadata.plan = torch.cumsum(metadata.lengths, 0)
        return x + metadata.plan

    def capture(self, x, metadata):
        if self.eager:
            self.forward(x, metadata)
        else:
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                self.forward(x, metadata)
""",
        tmp_path,
    )


COLDLY = {
    "model = Model()\n    with @:\n        model(x)": "certain",
    "model = torch.nn.Linear(4, 4).cuda()\n    with @:\n        model(x)": "certain",
    "model = Model()\n\n    def run():\n        return model(x)\n\n    with @:\n        run()": "certain",
    "def run():\n        return x @ x\n\n    with @:\n        run()": "",
    "model = Model()\n    if x:\n        model(x)\n        return\n    with @:\n        model(x)": "",
    "model = Model()\n    model(x)\n    with @:\n        model(x)": "",
    "model = Model()\n    for _ in range(3):\n        model(x)\n    with @:\n        model(x)": "",
    "model = Model()\n    warm(model, x)\n    with @:\n        model(x)": "",
    "model = Model()\n    warm_up(lambda: model(x))\n    with @:\n        model(x)": "",
    "model = torch.nn.Linear(4, 4)\n    unknown(model)\n    with @:\n        model(x)": "",
    "def run():\n        return unknown(x)\n\n    unknown(x)\n    with @:\n        run()": "",
    "def run():\n        return unknown(x)\n\n    with @:\n        run()": "",
    "with @:\n        unknown(x)": "",
    "with @:\n        step(x)": "",
    "with @:\n        y = x + 1": "",
}


@pytest.mark.parametrize("body", COLDLY)
def test_what_never_ran_is_found_if_nobody_could_have_run_it(body: str, tmp_path: Path) -> None:
    expectation = f"  {COLD} {COLDLY[body]}" if COLDLY[body] else ""
    with_block = body.replace("@:", f"torch.cuda.graph(torch.cuda.CUDAGraph()):{expectation}")
    check(
        f"""{HEAD}
class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1


def step(x):
    return x + 1


def warm(model, x):
    for _ in range(3):
        model(x)


def warm_up(function):
    function()


def capture(x, unknown):
    {with_block}
""",
        tmp_path,
    )


def test_a_method_of_a_subclass_and_a_part_of_a_model_are_followed(tmp_path: Path) -> None:
    check(
        f"""
### engine/__init__.py
### engine/layers.py
import torch


class Base(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return self.finish(self.scale(x))

    def finish(self, x):
        return x


class Scaled(Base):
    def scale(self, x):
        return x / x.max().item()

    def finish(self, x):
        torch.cuda.synchronize()
        return super().finish(x)
### engine/model.py
import torch

from engine import layers


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = layers.Scaled()
        self.chosen = unknown()

    def forward(self, x):
        return self.chosen(self.layer(x))
### engine/run.py
import torch

from .model import Model


def capture(x):
    model = Model()
    model(x)
    with torch.cuda.graph(torch.cuda.CUDAGraph()):  {SYNC} {SYNC} conditional
        model(x)
""",
        tmp_path,
    )


#: A backend that is handed in, as its class is declared; @ what stands between it and the capture.
DECLARED = """
import torch


class Backend:
    def forward(self, x: torch.Tensor):
        return x / x.max().item()
{between}

class Runner:
    def __init__(self, backend: Backend):
        self.backend = backend

    def capture(self, x):
        self.backend.forward(x)
        with torch.cuda.graph(torch.cuda.CUDAGraph()):  {expectation}
            self.backend.forward(x)
"""


def test_an_object_is_of_the_class_that_is_declared_if_nothing_derives_from_it(tmp_path: Path) -> None:
    (finding,) = check(DECLARED.format(between="", expectation=f"{SYNC} conditional"), tmp_path)
    assert finding.condition == "self.backend is of class Backend and x.max() is on the GPU"


def test_a_declared_class_with_another_derived_from_it_says_nothing(tmp_path: Path) -> None:
    derived = "\n\nclass Other(Backend):\n    def forward(self, x):\n        return x\n"
    check(DECLARED.format(between=derived, expectation=""), tmp_path)


def test_a_global_that_was_set_on_the_way_is_known(tmp_path: Path) -> None:
    check(
        f"""{HEAD}
_EAGER = True


def start(capacity=None):
    global _EAGER
    _EAGER = bool(capacity is None)


def forward(x: torch.Tensor):
    if _EAGER:
        torch.cuda.synchronize()
    return x


def capture(x: torch.Tensor, size):
    start(capacity=size * 2)
    forward(x)
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        forward(x)


def capture_eagerly(x: torch.Tensor):
    start()
    forward(x)
    with torch.cuda.graph(torch.cuda.CUDAGraph()):  {SYNC}
        forward(x)
""",
        tmp_path,
    )


def test_what_only_a_tensor_can_do_is_work_although_nobody_says_what_was_handed_in(tmp_path: Path) -> None:
    check(
        HEAD
        + f"""class Runner:
    def __init__(self, model):
        self.model = model
        self._ready = False

    def forward(self, x):
        if not self._ready:
            self.scale = x.abs().max()
            self._ready = True
        return self.model(x) * self.scale

    def capture(self, x):
        self.forward(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):  {LAZY} certain
            return self.forward(x)
""",
        tmp_path,
    )
