"""Work meant for the device, done on the CPU after waking the device: only where it was opted into."""

from __future__ import annotations

import pytest

from tests.virtual.conftest import Run

pytest.importorskip("torch")

_START = """
import os
import coldfork.virtual
device = coldfork.virtual.install("h100", 2, redirect=True)
import torch
"""

_MADE = (
    "torch.zeros(2, device='cuda')",
    "torch.tensor([1.0], device='cuda:1')",
    "torch.as_tensor([1], device=torch.device('cuda'))",
    "torch.randn(2, device='cuda')",
    "torch.arange(3, device='cuda')",
    "torch.tril_indices(3, 3, device='cuda')",
    "torch.zeros_like(torch.ones(1), device='cuda')",
    "torch.ones(1).new_tensor([1], device='cuda')",
    "torch.ones(1).cuda()",
    "torch.ones(1).to('cuda')",
    "torch.ones(1).to(device='cuda', dtype=torch.float16)",
    "torch.ones(1).to('cuda', non_blocking=True)",
    "torch.ones(1).pin_memory()",
    "torch.nn.Linear(2, 2, device='cuda').weight",
    "torch.nn.Linear(2, 2).cuda()(torch.ones(2).cuda())",
)


@pytest.mark.must_hold
def test_tensors_are_made_on_the_cpu_and_each_of_them_wakes_the_device(run: Run) -> None:
    program = run(
        f"""
for code in {_MADE!r}:
    if os.fork() == 0:
        tensor = eval(code)
        tell(**{{code: [str(tensor.device), device.level]}})
        os._exit(0)
    os.wait()
tell(parent=device.state)
""",
        after=_START,
    )
    assert program.told == {code: ["cpu", "context"] for code in _MADE} | {"parent": "cold"}


def test_work_that_names_no_device_leaves_it_cold(run: Run) -> None:
    program = run(
        """
model = torch.nn.Linear(2, 2)
result = model(torch.tensor([1.0, 2.0]).to(torch.float32).to("cpu"))
result.sum().backward()
tell(alias=torch.as_tensor(result) is result)
tell(state=device.state, same=result.to("cpu") is result)
tell(number=result.detach().to(torch.float16).dtype.itemsize)
""",
        after=_START,
    )
    assert program.told == {"alias": True, "state": "cold", "same": True, "number": 2}


def test_a_tensor_moved_to_the_device_is_a_copy(run: Run) -> None:
    program = run(
        """
original = torch.zeros(2)
ways = (
    original.cuda(),
    original.to("cuda"),
    original.to(device="cuda"),
    torch.as_tensor(original, device="cuda"),
)
for moved in ways:
    moved.add_(1)
tell(original=original.tolist(), moved=moved.tolist())
""",
        after=_START,
    )
    assert program.told == {"original": [0.0, 0.0], "moved": [1.0, 1.0]}


def test_gradients_flow_through_a_move(run: Run) -> None:
    program = run(
        """
weight = torch.ones(2, requires_grad=True)
(weight.cuda() * 3).sum().backward()
tell(gradient=weight.grad.tolist())
""",
        after=_START,
    )
    assert program.told == {"gradient": [3.0, 3.0]}


def test_streams_and_events_are_there_and_always_done(run: Run) -> None:
    program = run(
        """
stream, other = torch.cuda.Stream(), torch.cuda.Stream()
start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
before = torch.cuda.current_stream()
with torch.cuda.stream(stream):
    start.record()
    torch.ones(100, device="cuda").sum()
    end.record()
    inside = torch.cuda.current_stream()
stream.wait_event(end)
other.wait_stream(stream)
torch.cuda.synchronize()
tell(different=stream != other, inside=inside == stream, after=torch.cuda.current_stream() == before,
     time=start.elapsed_time(end) > 0, done=[stream.query(), end.query(), stream.record_event().query()])
try:
    start.elapsed_time(torch.cuda.Event())
except RuntimeError as error:
    tell(unrecorded=type(error).__name__)
""",
        after=_START,
    )
    assert program.told == {
        "different": True,
        "inside": True,
        "after": True,
        "time": True,
        "done": [True, True, True],
        "unrecorded": "RuntimeError",
    }


def test_in_a_poisoned_child_every_way_to_make_a_tensor_fails(run: Run) -> None:
    program = run(
        f"""
torch.ones(1).cuda()
if os.fork() == 0:
    for code in {_MADE!r}:
        try:
            eval(code)
        except RuntimeError as error:
            tell(**{{code: str(error)[:46]}})
        else:
            tell(**{{code: "made"}})
    os._exit(0)
os.wait()
""",
        after=_START,
    )
    assert program.told == dict.fromkeys(_MADE, "Cannot re-initialize CUDA in forked subprocess")


def test_fake_tensors_keep_their_device(run: Run) -> None:
    program = run(
        """
from torch._subclasses.fake_tensor import FakeTensorMode
with FakeTensorMode():
    tell(devices=[str(torch.empty(2, device="cuda").device), str(torch.ones(2).to("cuda:0").device)])
""",
        after=_START,
    )
    assert program.told == {"devices": ["cuda:0", "cuda:0"]}
