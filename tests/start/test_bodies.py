"""The touches of functions that are certain: each of a table of bodies, read as the guard reads it."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import json
import multiprocessing
import queue
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from coldfork.model.forking.judgement import Deed
from coldfork.observe.forking import bodies, questions, variables
from coldfork.source.bodies.following import NotFound, read_body
from coldfork.source.bodies.question import Question
from tests.start.loading import loaded

BEFORE = """
import contextlib, functools, os, sys
import torch
import helper_of_bodies
DEVICE = "cuda"
def retry(function):
    @functools.wraps(function)
    def inner(*given):
        try: return function(*given)
        except Exception: return None
    return inner
class Config:
    device = "cuda"
class Worker:
    device = "cuda"
    def __init__(self, device=None):
        if device: self.device = device
    def work(self): return torch.zeros(1, device=self.device)
    def through(self): return self.work()
    def __call__(self): self.work()
CONFIG = Config()
"""
HELPER = """
import torch
def touch(): return torch.ones(2).cuda()
def maybe(on=False):
    if on: touch()
"""

CERTAIN = {
    "a constant": "torch.zeros(1, device='cuda')",
    "a method": "torch.zeros(1).cuda()",
    "a variable of the module": "torch.zeros(1, device=DEVICE)",
    "another module": "helper_of_bodies.touch()",
    "an argument for it": "helper_of_bodies.maybe(True)",
    "an import inside": "import helper_of_bodies as h\nh.touch()",
    "raised again": "try: torch.cuda.synchronize()\nexcept RuntimeError as error: raise ValueError",
    "in finally": "try: x = 1\nfinally: torch.cuda.synchronize()",
    "within torch's own": "with torch.no_grad(): torch.cuda.synchronize()",
    "both ways": "if x: torch.cuda.synchronize()\nelse: torch.zeros(1, device='cuda')",
    "before a loop that ends": "torch.cuda.set_device(0)\nwhile True:\n    if x.get() is None: break",
    "first in a loop": "while True:\n    torch.cuda.synchronize()\n    if x.get() is None: break",
}
UNCERTAIN = {
    "a condition": "if x: torch.cuda.synchronize()",
    "a parameter with a default": "helper_of_bodies.maybe()",
    "its own parameter": "torch.zeros(1, device=device)",
    "caught": "try: torch.cuda.synchronize()\nexcept RuntimeError: pass",
    "caught around a call": "try: helper_of_bodies.touch()\nexcept Exception: pass",
    "suppressed": "with contextlib.suppress(RuntimeError): torch.cuda.synchronize()",
    "a decorator that catches": "@retry\ndef inner(): torch.cuda.synchronize()\ninner()",
    "one of two devices": "torch.zeros(1, device='cuda' if x else 'cpu')",
    "a device that was changed": "d = 'cpu'\nif x: d = 'cuda'\ntorch.zeros(1).to(d)",
    "a device or another": "torch.zeros(1).to(x or 'cuda')",
    "a device from a table": "torch.zeros(1, device={'a': 'cuda', 'b': 'cpu'}[x])",
    "a device found in a loop": "for d in ('cpu', 'cuda'):\n    if x(d): break\ntorch.zeros(1, device=d)",
    "a device after a failure": "try: d = x.device()\nexcept Exception: d = 'cuda'\ntorch.zeros(1, device=d)",
    "an early end": "if x.done(): return\ntorch.cuda.synchronize()",
    "the end of the process": "os._exit(0)\ntorch.cuda.synchronize()",
    "another program": "os.execv('/bin/true', ['true'])\ntorch.cuda.synchronize()",
    "a loop over nobody knows what": "for one in x: torch.cuda.synchronize()",
    "behind the end of a queue": "while True:\n    if x.get() is None: break\n    torch.cuda.synchronize()",
    "a round that is left": "for one in (1, 2):\n    if x[one]: continue\n    torch.cuda.synchronize()",
    "not in a fork": "if not torch.cuda._is_in_bad_fork(): torch.cuda.synchronize()",
    "not in a worker": "if torch.utils.data.get_worker_info() is None: torch.cuda.synchronize()",
    "if there is one": "if torch.cuda.is_available(): torch.cuda.synchronize()",
    "a question": "torch.cuda.is_available()\ntorch.cuda.device_count()",
    "a seed": "torch.manual_seed(0)\ntorch.cuda.manual_seed_all(0)",
    "a generator": "torch.cuda.synchronize()\nyield 1",
    "a function that nobody calls": "return lambda: torch.cuda.synchronize()",
    "an object that others may change": "c = Worker('cuda')\nx.change(c)\ntorch.zeros(1, device=c.device)",
    "words that others may change": "kw = {'device': 'cuda'}\nx.change(kw)\ntorch.zeros(1, **kw)",
    "a handler": "try: x()\nexcept ValueError: torch.cuda.synchronize()",
    "what the environment says": "if os.environ.get('NOBODY_SETS_THIS'): torch.cuda.synchronize()",
    "tensors of the CPU": "torch.zeros(1, device='cpu').sum()",
}

OWN = ("made_of_bodies", "helper_of_bodies")
"""Torch's classes are many, and reading about them takes a second."""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("bodies")
    texts = [BEFORE]
    for number, body in enumerate([*CERTAIN.values(), *UNCERTAIN.values()]):
        inside = "\n".join(f"    {line}" for line in body.splitlines())
        texts.append(f"def body_{number}(x, device='cuda'):\n{inside}\n")
    texts.append("def making(device):\n    def nested(): torch.zeros(1, device=device)\n    return nested\n")
    texts.append("touching = lambda: torch.zeros(1, device='cuda')\n")
    texts.append(
        "def told(): torch.zeros(1, device=DEVICE)\ndef told_class(): torch.zeros(1, device=Config.device)\n"
    )
    texts.append("def told_object(): torch.zeros(1, device=CONFIG.device)\n")
    beside = {"helper_of_bodies": HELPER}
    with loaded(folder, "made_of_bodies", "\n".join(texts), beside) as made:
        yield made


def touched(function: object) -> list[str]:
    """The places at which a function is certain to touch cuda in a program of these modules and torch."""
    (body,) = bodies.of_purpose("process", function)
    question = questions.question_of(body)
    assert question is not None
    for kind in ("modules", "classes"):
        question[kind] = {name: held for name, held in question[kind].items() if name in OWN}
    found = read_body(Question.read(json.loads(json.dumps(question))))
    return [f"{Path(one.steps[-1][0]).stem}:{one.steps[-1][2]}" for one in found.touches]


@pytest.mark.must_hold
@pytest.mark.parametrize(
    ("number", "certain"),
    [pytest.param(number, name in CERTAIN, id=name) for number, name in enumerate([*CERTAIN, *UNCERTAIN])],
)
def test_only_what_happens_in_every_run_is_certain(module: ModuleType, number: int, certain: bool) -> None:
    assert bool(touched(getattr(module, f"body_{number}"))) == certain


def test_the_place_is_the_line_that_touches(module: ModuleType) -> None:
    number = list(CERTAIN).index("another module")
    assert touched(getattr(module, f"body_{number}")) == ["helper_of_bodies:touch"]


@pytest.mark.must_hold
def test_what_an_object_holds_decides(module: ModuleType) -> None:
    assert touched(module.Worker().work)
    assert touched(module.Worker().through)
    assert touched(module.Worker())
    assert not touched(module.Worker("cpu").work)
    assert not touched(module.Worker("cpu"))


def test_what_is_around_a_function_decides(module: ModuleType) -> None:
    assert touched(module.making("cuda"))
    assert not touched(module.making("cpu"))
    assert touched(functools.partial(module.touching))


@pytest.mark.must_hold
def test_what_the_process_has_been_told_decides(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    assert touched(module.told)
    monkeypatch.setattr(module, "DEVICE", "cpu")
    assert not touched(module.told)
    assert touched(module.told_class)
    monkeypatch.setattr(module.Config, "device", "cpu")
    assert not touched(module.told_class)
    assert not touched(module.told_object)


def test_a_file_that_has_changed_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "changing_body.py"
    file.write_text("def work():\n    return 1\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    changing = importlib.import_module("changing_body")
    file.write_text("import torch\ndef work(): torch.zeros(1, device='cuda')\n", encoding="utf-8")
    with pytest.raises(NotFound):
        touched(changing.work)


def test_a_function_is_asked_about_once(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def answer(said: str, deadline: float) -> list[dict[str, Any]]:
        asked.append(said)
        return [{"accelerator": "cuda", "call": "torch.zeros", "steps": [["/w.py", 3, "told"]]}]

    monkeypatch.setattr(questions, "touches", answer)
    ask = questions.BodyReach()
    body = bodies.of_purpose("process", module.told)
    expected = {"cuda": Deed("its function", "torch.zeros", (("/w.py", 3, "told"),))}
    assert ask(body) == expected
    assert ask(body) == expected
    assert len(asked) == 1
    # Each time something else: it is asked about so often, and no more.
    for device in ("cpu", "cuda:1", "cuda:2", "cuda:3"):
        monkeypatch.setattr(module, "DEVICE", device)
        ask(body)
    assert len(asked) == 3
    assert ask(body) == {}


def test_arguments_are_told_as_far_as_one_reading_holds_for_many(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def answer(said: str, deadline: float) -> list[dict[str, Any]]:
        asked.append(json.loads(said)["arguments"])
        return []

    monkeypatch.setattr(questions, "touches", answer)
    ask = questions.BodyReach()

    def start(*given: object) -> None:
        context = multiprocessing.get_context("spawn")
        ask(bodies.of_process(context.Process(target=module.body_0, args=given)))

    for rank in range(8):
        start(rank)
    assert asked == [{"x": {"natural": True}, "device": {"is": "cuda"}}]
    for name in ("a", "b", "c", "d"):
        start(name, "cpu")
    # So many readings are enough: the last one is for whatever comes.
    assert [one and one["x"] for one in asked[1:]] == [{"is": "a"}, {"is": "b"}, None]
    start([1, "cpu"], module.CONFIG)
    assert asked[-1] is None
    assert variables.as_argument([1, "cpu"]) == {"items": [{"natural": True}, {"is": "cpu"}], "kind": "list"}
    assert variables.as_argument({"a": -1}) == {"entries": {"a": {"is": -1}}}
    assert variables.as_argument(module.Worker("cpu")) == {
        "object": ["made_of_bodies", "Worker"],
        "holds": {"device": {"is": "cpu"}},
    }
    assert variables.as_argument(threading.Event()) == {"of": "threading.Event"}
    assert variables.as_argument(queue.Queue()) == {"of": "queue.Queue"}
    assert variables.as_argument(queue.Queue(1)) is None


def test_what_goes_wrong_leaves_everything_open(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(said: str, deadline: float) -> list[dict[str, Any]]:
        raise OSError("no more processes")

    monkeypatch.setattr(questions, "touches", fail)
    assert questions.BodyReach()(bodies.of_purpose("process", module.told)) == {}


def test_an_answer_that_takes_too_long_is_none(
    module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLDFORK_CACHE_DIR", str(tmp_path))
    (body,) = bodies.of_purpose("process", module.told)
    assert questions.touches(json.dumps(questions.question_of(body)), 0.0) == []
    assert [
        one["accelerator"] for one in questions.touches(json.dumps(questions.question_of(body)), 300)
    ] == ["cuda"]
    # Kept: it takes no time at all now.
    assert len(questions.touches(json.dumps(questions.question_of(body)), 0.0)) == 1
