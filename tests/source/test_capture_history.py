"""Three bugs of vLLM's graphs as source: named at the capture, with the way to the flag; not when mended.

The same shapes run in tests/graphs/test_history.py, where virtual capture shows that they go wrong.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from inline_snapshot import snapshot

from tests.source.capturing import BACKEND, MANAGER, RULES, check, renamed, steps
from tests.source.expectations import findings_of, lay_out

pytestmark = pytest.mark.once

STATE = "# expect: capture-reuses-warmup-state"

#: #42444: the state is built once, warmed up, and captured.
ONCE = (
    BACKEND
    + f"""
### engine/run.py
import torch

from engine.backend import Engine


def capture(tokens):
    engine = Engine(tokens)
    state = engine.build()
    engine.forward(state)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  {STATE}
        output = engine.forward(state)
    return graph, output
"""
)
ONCE_MENDED = ONCE.replace(
    f"""    with torch.cuda.graph(graph):  {STATE}
""",
    """    state = engine.build()
    with torch.cuda.graph(graph):
""",
)

#: #44253: the prefill of a speculator is captured on the state that the target's warm-up had.
SPECULATOR = """
### engine/speculator.py
from engine.backend import Engine
from engine.manager import GraphManager


class Target:
    def __init__(self, engine):
        self.engine = engine

    def create(self, descriptor, warmup):
        state = self.engine.build()
        return (lambda: self.engine.forward(state)), state


class Prefill:
    def __init__(self, engine, states):
        self.engine = engine
        self.states = states

    def create(self, descriptor, warmup):
        warm, fresh = self.states[descriptor]
        state = {chosen}

        def forward():
            return self.engine.attend(self.engine.x - 1, state["layer.1"])

        return forward, state


def start(sizes):
    engine = Engine(8)
    states = GraphManager().capture(Target(engine).create, sizes)
    return GraphManager().capture(Prefill(engine, states).create, sizes)
"""
REUSED = BACKEND + MANAGER.format(expectation=STATE) + SPECULATOR.format(chosen="warm")
REUSED_MENDED = (
    BACKEND + MANAGER.format(expectation="") + SPECULATOR.format(chosen="warm if warmup else fresh")
)

#: #48261: a builder keeps the buffers that the first call wrote.
BUILDER = """
### engine/builder.py
import torch

from engine.manager import GraphManager


class Builder:
    def __init__(self):
        self.x = torch.zeros(4, device="cuda")
        self.slots = torch.zeros(4, dtype=torch.int64, device="cuda")

    def build(self, first):
        self.slots.copy_(torch.arange(first, first + 4))
        return self.slots

    def forward(self, slots):
        return self.x + slots


def start(sizes):
    builder = Builder()
    kept = []

    def create(descriptor, warmup):
        {building}
        return (lambda: builder.forward(kept[0])), kept[0]

    return GraphManager().capture(create, sizes)
"""
STALE = (
    BACKEND
    + MANAGER.format(expectation=f"{STATE} conditional")
    + BUILDER.format(building="if not kept:\n            kept.append(builder.build(100))")
)
#: What is built once is written by nothing that depends on the batch.
BUILT_ONCE = (
    BACKEND
    + MANAGER.format(expectation="")
    + BUILDER.format(building='if not kept:\n            kept.append(torch.zeros(4, device="cuda"))')
)
STALE_MENDED = (
    BACKEND
    + MANAGER.format(expectation="")
    + BUILDER.format(building="kept[:] = [builder.build(100 if warmup else 0)]")
)


@pytest.mark.must_hold
def test_42444_the_flag_in_the_metadata_is_named_with_the_way_there(tmp_path: Path) -> None:
    (finding,) = check(ONCE, tmp_path)
    assert steps(finding) == snapshot(
        [
            "capture: with torch.cuda.graph(graph):",
            "capture: output = engine.forward(state)",
            "Engine.forward: hidden = self.attend(hidden, metadata)",
            "Engine.attend: if not tiles.initialised:",
            "tiles.initialised, set on the first run only",
        ]
    )
    assert finding.message == snapshot(
        "Engine.attend is captured with tiles.initialised already set by the warm-up"
    )


@pytest.mark.must_hold
def test_44253_the_state_of_the_targets_warm_up_is_named_where_the_prefill_is_captured(
    tmp_path: Path,
) -> None:
    (finding,) = check(REUSED, tmp_path)
    assert steps(finding) == snapshot(
        [
            "GraphManager.capture: with torch.cuda.graph(graph):",
            "GraphManager.capture: forward()",
            'forward: return self.engine.attend(self.engine.x - 1, state["layer.1"])',
            "Engine.attend: if not tiles.initialised:",
            "tiles.initialised, set on the first run only",
        ]
    )
    assert finding.condition == snapshot(None)


@pytest.mark.must_hold
def test_48261_buffers_that_the_first_call_built_are_named(tmp_path: Path) -> None:
    (finding,) = check(STALE, tmp_path)
    assert steps(finding) == snapshot(
        [
            "GraphManager.capture: with torch.cuda.graph(graph):",
            "GraphManager.capture: forward, state = create_forward(descriptor, warmup=False)",
            "create: if not kept:",
            "kept, built by the first call only",
        ]
    )
    assert finding.condition == snapshot("what self.slots.copy_(...) leaves differs between batches")


@pytest.mark.must_hold
@pytest.mark.parametrize("text", [ONCE_MENDED, REUSED_MENDED, STALE_MENDED], ids=["42444", "44253", "48261"])
def test_what_was_mended_is_silent(text: str, tmp_path: Path) -> None:
    check(text, tmp_path)


def test_what_is_the_same_for_every_batch_may_be_built_once(tmp_path: Path) -> None:
    check(BUILT_ONCE, tmp_path)


#: Neither names the class of what captures where it is called.
CALLERS = {
    "a manager that somebody keeps": f"""
### engine/run.py
from engine.backend import Engine
from engine.manager import GraphManager

class Runner:
    def __init__(self):
        self.manager = GraphManager()

    def start(self, sizes):
        engine = Engine(8)
        state = engine.build()

        def create(descriptor, warmup):
            return (lambda: engine.forward(state)), state

        return self.manager.capture(create, sizes)
{MANAGER.format(expectation=STATE)}""",
    "a constructor that captures": f"""
### engine/run.py
from engine.backend import Engine
from engine.captured import Captured

def start():
    engine = Engine(8)
    state = engine.build()
    return Captured(lambda: engine.forward(state))
### engine/captured.py
import torch

class Captured:
    def __init__(self, run):
        run()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):  {STATE}
            run()
""",
    "a function that captures": f"""
### engine/run.py
from engine.backend import Engine
from engine import captured

def start():
    engine = Engine(8)
    state = engine.build()
    return captured.record(lambda: engine.forward(state))
### engine/captured.py
import torch

def record(run):
    run()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  {STATE}
        run()
    return graph
""",
}


@pytest.mark.parametrize("text", CALLERS.values(), ids=[name.replace(" ", "-") for name in CALLERS])
def test_callers_of_what_captures_are_followed(text: str, tmp_path: Path) -> None:
    check(BACKEND + text, tmp_path)


NAMES = {
    "engine": "motor", "backend": "rear", "manager": "keeper", "Engine": "Motor", "Metadata": "Facts",
    "TileScheduler": "Tiles", "tile_scheduler": "cutter", "initialised": "done", "plan": "cuts",
    "attend": "look", "forward": "onward", "build": "assemble", "state": "facts", "states": "kept_facts",
    "GraphManager": "Recorder", "create_forward": "maker", "create": "prepare", "capture": "record",
    "Builder": "Maker", "kept": "stock", "slots": "places", "Prefill": "Start", "Target": "Goal",
}  # fmt: skip


@pytest.mark.parametrize("text", [ONCE, REUSED, STALE, ONCE_MENDED, REUSED_MENDED, STALE_MENDED])
def test_names_and_modules_do_not_matter(text: str, tmp_path: Path) -> None:
    protected = text.replace(STATE, "#@").replace("torch.cuda.graph", "torch.cuda.graph")
    check(renamed(protected, NAMES).replace("#@", STATE), tmp_path)


@pytest.mark.parametrize("text", [ONCE, ONCE_MENDED])
def test_another_level_of_calls_does_not_matter(text: str, tmp_path: Path) -> None:
    deeper = text.replace(
        "    def forward(self, state):",
        "    def forward(self, state):\n        return self.really(state=state)\n\n"
        "    def really(self, state):",
    )
    assert deeper != text
    check(deeper, tmp_path)


@pytest.mark.parametrize("text", [ONCE, ONCE_MENDED])
def test_a_function_is_as_good_as_a_method(text: str, tmp_path: Path) -> None:
    start = text.index("    def attend(self")
    end = text.index("    def forward(self, state)")
    method = text[start:end]
    function = "\n".join(line.removeprefix("    ") for line in method.splitlines())
    plain = text.replace(method, "").replace("class TileScheduler", f"{function}\n\nclass TileScheduler")
    check(plain.replace("self.attend(hidden", "attend(self, hidden"), tmp_path)


def test_coldforks_own_manager_makes_the_mistake_only_with_state_from_around(tmp_path: Path) -> None:
    check(
        BACKEND
        + f"""
### engine/ours.py
from coldfork.graphs import GraphManager, check

from engine.backend import Engine


def right(sizes):
    engine = Engine(8)

    def create(descriptor, phase):
        state = engine.build()
        return (lambda mode: engine.forward(state)), state

    return GraphManager("cuda").capture(create, sizes)


def wrong(sizes):
    engine = Engine(8)
    state = engine.build()

    def create(descriptor, phase):
        return (lambda mode: engine.forward(state)), state

    check(create, sizes)  {STATE}
    return GraphManager("cuda").capture(create, sizes)  {STATE}
""",
        tmp_path,
    )


RUNNING = Path(__file__).parents[1] / "graphs"


@pytest.mark.must_hold
def test_the_programs_that_go_wrong_when_they_run_are_found_without_running(tmp_path: Path) -> None:
    files = []
    for name in ("engine", "test_history"):
        text = (RUNNING / f"{name}.py").read_text(encoding="utf-8")
        text = text.replace('torch: Any = pytest.importorskip("torch")', "import torch")
        text = text.replace("Speculator, batch, torch", "Speculator, batch; import torch")
        files.append(f"### tests/graphs/{name}.py\n{text}")
    lay_out("\n".join(["### tests/__init__.py\n### tests/graphs/__init__.py", *files]), tmp_path)
    found = [one for one in findings_of(tmp_path) if one.rule in RULES]
    assert {one.rule for one in found} == {"capture-reuses-warmup-state"}
    told = [(one.text, one.verdict.value, steps(one)[-2].strip()) for one in found]
    assert told == snapshot(
        [
            ("with virtual.capture() as graph:", "certain", "Engine.attend: if not tiles.initialised:"),
            (
                "report = check(Engine().create_once(), [FULL])",
                "certain",
                "Engine.attend: if not tiles.initialised:",
            ),
            ("report = check(shares, [FULL])", "certain", "Engine.attend: if not tiles.initialised:"),
            ("report = check(builds_once, [descriptor])", "conditional", "builds_once: if not kept:"),
            (
                'GraphManager("cpu", check="error").capture(builds_once, [descriptor])',
                "conditional",
                "builds_once: if not kept:",
            ),
        ]
    )
