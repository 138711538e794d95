"""Small programs captured as graphs on one device, and what their replays compute.

Argument: the device, `cuda` or `cpu` (captured virtually). Answers for each program whether it could be
captured, what an eager run and a replay compute from inputs that the capture never saw, and on a GPU how long
a replay takes on the host, alone, through the manager and through torch's own graphed callables.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch

from coldfork.graphs import BatchDescriptor, CaptureFailedError, GraphManager, Mode, Phase, check

SIZE = 64
ROUNDS = 2_000
DESCRIPTOR = BatchDescriptor(Mode.FULL, SIZE)

Program = Callable[[Any, Any], Any]


def _layers(x: Any, module: Any) -> Any:
    return module(x)


def _views(x: Any, module: Any) -> Any:
    wide = x.t().contiguous().view(-1)
    wide[: SIZE // 2].mul_(2)
    return torch.cat([wide[1:], wide[:1]]).reshape(x.shape)


def _attention(x: Any, module: Any) -> Any:
    rows = x.reshape(1, 1, SIZE, -1)
    return torch.nn.functional.scaled_dot_product_attention(rows, rows, rows)


def _sorting(x: Any, module: Any) -> Any:
    values, places = x.sort(dim=0)
    return values + places.to(x.dtype)


def _choosing(x: Any, module: Any) -> Any:
    return torch.where(x > 0, x, -x).index_select(0, torch.arange(0, SIZE, 2, device=x.device))


def _drawing(x: Any, module: Any) -> Any:
    return torch.rand_like(x)


def _asking(x: Any, module: Any) -> Any:
    return x * x.sum().item()


def _deciding(x: Any, module: Any) -> Any:
    return x * 2 if x.sum() > 0 else x


def _masking(x: Any, module: Any) -> Any:
    return x[x > 0]


def _finding(x: Any, module: Any) -> Any:
    return x.nonzero()


def _fetching(x: Any, module: Any) -> Any:
    return torch.tensor(x.cpu().tolist(), device=x.device)


def _uploading(x: Any, module: Any) -> Any:
    return x + torch.tensor([1.0] * x.shape[1], device=x.device)


PROGRAMS: dict[str, Program] = {
    "layers": _layers,
    "views and in-place": _views,
    "attention": _attention,
    "sorting": _sorting,
    "choosing": _choosing,
    "drawing": _drawing,
    "asking for a value": _asking,
    "deciding on a value": _deciding,
    "masking": _masking,
    "finding": _finding,
    "fetching to the host": _fetching,
    "uploading from the host": _uploading,
}


class Metadata:
    """Planned on first use."""

    plan: Any = None


def main(device: str) -> dict[str, Any]:
    """Run everything on one device."""
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.GELU(), torch.nn.Linear(32, 8)).to(device)
    fresh = torch.linspace(-1, 1, SIZE * 8).reshape(SIZE, 8).to(device)
    with torch.no_grad():
        answers = {name: _tried(program, module, fresh, device) for name, program in PROGRAMS.items()}
        return {
            "torch": torch.__version__,
            "programs": answers,
            "leak": _leaking(fresh, device),
            "microseconds": _latency(module, fresh, device) if device != "cpu" else {},
        }


def _tried(program: Program, module: Any, fresh: Any, device: str) -> dict[str, Any]:
    x = torch.ones(SIZE, 8, device=device)
    manager = GraphManager(device)

    def create(descriptor: BatchDescriptor, phase: Phase) -> tuple[Callable[[Mode], Any], None]:
        return (lambda mode: program(x, module)), None

    try:
        manager.capture(create, [DESCRIPTOR], inputs=lambda one: {"x": x}, progress=False)
    except CaptureFailedError as error:
        return {"captured": False, "phase": error.phase.value, "error": str(error.__cause__)[:300]}
    first = manager.replay(DESCRIPTOR, x=fresh).clone()
    second = manager.replay(DESCRIPTOR, x=fresh).clone()
    eager = program(fresh.clone(), module)
    return {
        "captured": True,
        "replayed": first.flatten().tolist(),
        "replayed again": second.flatten().tolist(),
        "eager": eager.flatten().tolist(),
    }


def _leaking(fresh: Any, device: str) -> dict[str, Any]:
    """The lazily planned backend under one state for both phases, and under one for each."""
    kept = Metadata()

    def create_on(make: Callable[[], Metadata]) -> Any:
        def create(descriptor: BatchDescriptor, phase: Phase) -> tuple[Callable[[Mode], Any], Metadata]:
            metadata = make()

            def forward(mode: Mode) -> Any:
                if metadata.plan is None:
                    metadata.plan = fresh.cumsum(0)
                return fresh + metadata.plan

            return forward, metadata

        return create

    shared = check(create_on(lambda: kept), [DESCRIPTOR], inputs=[fresh], device=device)
    apart = check(create_on(Metadata), [DESCRIPTOR], inputs=[fresh], device=device)
    return {"shared": sorted({leak.kind.value for leak in shared.leaks}), "apart": len(apart.leaks)}


def _latency(module: Any, fresh: Any, device: str) -> dict[str, float]:
    x = fresh.clone()
    manager = GraphManager(device)
    manager.capture(
        lambda descriptor, phase: ((lambda mode: module(x)), None),
        [DESCRIPTOR],
        inputs=lambda one: {"x": x},
        progress=False,
    )
    graph: Any = manager._captured[DESCRIPTOR]._graph
    with torch.enable_grad():
        graphed = torch.cuda.make_graphed_callables(module, (x.clone(),))
    return {
        "eager": _median(lambda: module(x)),
        "graph alone": _median(graph.replay),
        "manager without inputs": _median(lambda: manager.replay(DESCRIPTOR)),
        "manager with inputs": _median(lambda: manager.replay(DESCRIPTOR, x=fresh)),
        "make_graphed_callables": _median(lambda: graphed(x)),
    }


def _median(call: Callable[[], object]) -> float:
    """Microseconds that the host spends in a call."""
    samples = []
    for _ in range(7):
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(ROUNDS // 7):
            call()
        samples.append((time.perf_counter() - began) / (ROUNDS // 7) * 1e6)
        torch.cuda.synchronize()
    return round(statistics.median(samples), 2)


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])))
