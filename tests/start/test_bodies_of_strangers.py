"""Code handed to functions that cannot be followed is not certain any more: the ways it may be changed.

In each table a body has an argument `x` of which nothing is known. What a body of `CHANGED` hands on, or what
functions of the program may write, decides what it does later; in `KEPT` it does not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from types import ModuleType

import pytest

from coldfork.observe.forking import bodies, questions
from coldfork.source.bodies.following import read_body
from coldfork.source.bodies.question import Question
from coldfork.source.bodies.writers import written_in
from tests.amounts import step
from tests.start.loading import loaded

BEFORE = """
import functools, json, torch
import helper_of_strangers
DEVICE = KEPT = OTHER = OTHER2 = "cuda"
FLAG = True
def change_device():
    global DEVICE
    DEVICE = "cpu"
def change_others():
    global OTHER, OTHER2, FLAG
    OTHER, OTHER2, FLAG = "cpu", "cpu", False
change_other = change_others
def change_class(): Config.device = "cpu"
def change_helper(): helper_of_strangers.D = "cpu"
class Config:
    device = "cuda"
CONFIG = Config()
class Worker:
    device = "cuda"
    def __init__(self, device=None):
        if device: self.device = device
    def work(self): return torch.zeros(1, device=self.device)
    def become(self): self.device = "cpu"
class Keeper:
    kept2 = "cuda"
    kept3 = "cuda"
    def __init__(self, kept):
        self.kept = self.lasting = self.device = kept
        self.by_name = self.by_several = self.by_loop = kept
    def to(self, device): self.device = device
    def helper(self, x): return self.kept
    def rename(self, v):
        setattr(self, "by_name", v)
        a, self.by_several = v, v
        for self.by_loop in v: pass
        type(self).kept3 = v
"""
OWN = ("made_of_strangers", "helper_of_strangers")
HELPER = """
D = "cuda"
"""

CHANGED = {
    "nonlocal handed": (
        "used = True\n"
        "def leave():\n"
        "    nonlocal used\n"
        "    used = False\n"
        "x.call(leave)\n"
        "if used: torch.cuda.synchronize()"
    ),
    "nonlocal handed device": (
        "d = 'cuda'\ndef leave():\n    nonlocal d\n    d = 'cpu'\nx(leave)\ntorch.zeros(1, device=d)"
    ),
    "nonlocal stored attr": (
        "d = 'cuda'\n"
        "def leave():\n"
        "    nonlocal d\n"
        "    d = 'cpu'\n"
        "x.hook = leave\n"
        "x.go()\n"
        "torch.zeros(1, device=d)"
    ),
    "nonlocal in list": (
        "d = 'cuda'\ndef leave():\n    nonlocal d\n    d = 'cpu'\nx([leave])\ntorch.zeros(1, device=d)"
    ),
    "nonlocal via partial": (
        "d = 'cuda'\n"
        "def leave(a):\n"
        "    nonlocal d\n"
        "    d = 'cpu'\n"
        "x(functools.partial(leave, 1))\n"
        "torch.zeros(1, device=d)"
    ),
    "nonlocal method of local class": (
        "d = 'cuda'\n"
        "class C:\n"
        "    def leave(self):\n"
        "        nonlocal d\n"
        "        d = 'cpu'\n"
        "x(C())\n"
        "torch.zeros(1, device=d)"
    ),
    "nonlocal decorator": (
        "d = 'cuda'\n"
        "@x.register\n"
        "def leave():\n"
        "    nonlocal d\n"
        "    d = 'cpu'\n"
        "x.go()\n"
        "torch.zeros(1, device=d)"
    ),
    "nonlocal inner calls": (
        "d = 'cuda'\n"
        "def leave():\n"
        "    nonlocal d\n"
        "    d = 'cpu'\n"
        "def other():\n"
        "    leave()\n"
        "x(other)\n"
        "torch.zeros(1, device=d)"
    ),
    "nonlocal registered then called later": (
        "d = 'cuda'\n"
        "def leave():\n"
        "    nonlocal d\n"
        "    d = 'cpu'\n"
        "x.register(leave)\n"
        "x.run()\n"
        "torch.zeros(1, device=d)"
    ),
    "nonlocal set before reg": (
        "def leave():\n"
        "    nonlocal d\n"
        "    d = 'cpu'\n"
        "x.register(leave)\n"
        "d = 'cuda'\n"
        "x.run()\n"
        "torch.zeros(1, device=d)"
    ),
    "nonlocal thread": (
        "import threading\n"
        "d = 'cuda'\n"
        "def leave():\n"
        "    nonlocal d\n"
        "    d = 'cpu'\n"
        "t = threading.Thread(target=leave)\n"
        "t.start()\n"
        "t.join()\n"
        "torch.zeros(1, device=d)"
    ),
    "nonlocal atexit": (
        "import signal\n"
        "d = 'cuda'\n"
        "def leave(*a):\n"
        "    nonlocal d\n"
        "    d = 'cpu'\n"
        "signal.signal(signal.SIGUSR1, leave)\n"
        "x.wait()\n"
        "torch.zeros(1, device=d)"
    ),
    "nonlocal sorted key": (
        "d = 'cuda'\n"
        "def leave(a):\n"
        "    nonlocal d\n"
        "    d = 'cpu'\n"
        "    return a\n"
        "sorted(x, key=leave)\n"
        "torch.zeros(1, device=d)"
    ),
    "nonlocal map": (
        "d = 'cuda'\n"
        "def leave(a):\n"
        "    nonlocal d\n"
        "    d = 'cpu'\n"
        "    return a\n"
        "list(map(leave, x))\n"
        "torch.zeros(1, device=d)"
    ),
    "global handed": "x(change_device)\ntorch.zeros(1, device=DEVICE)",
    "global unknown call": "x()\ntorch.zeros(1, device=DEVICE)",
    "global known module of other": "x(helper_of_strangers)\ntorch.zeros(1, device=DEVICE)",
    "class attr handed": "x(Config)\ntorch.zeros(1, device=Config.device)",
    "class attr handed inst": "x(CONFIG)\ntorch.zeros(1, device=Config.device)",
    "class attr handed fresh inst": "c = Config()\nx(c)\ntorch.zeros(1, device=c.device)",
    "class attr type(self)": "x(change_class)\ntorch.zeros(1, device=Config.device)",
    "class attr method": "w = Worker()\nx(w.become)\ntorch.zeros(1, device=w.device)",
    "class attr method2": "w = Worker()\nx(w.become)\nw.work()",
    "instance in a list": "w = Worker('cuda')\nx([w])\nw.work()",
    "instance via closure": "w = Worker('cuda')\nx(lambda: w.become())\nw.work()",
    "instance via closure2": "w = Worker('cuda')\ndef f(): w.device = 'cpu'\nx(f)\nw.work()",
    "dict in closure": ("kw = {'device': 'cuda'}\ndef f(): kw['device'] = 'cpu'\nx(f)\ntorch.zeros(1, **kw)"),
    "dict in closure update": (
        "kw = {'device': 'cuda'}\nx(lambda: kw.update(device='cpu'))\ntorch.zeros(1, **kw)"
    ),
    "dict by default": (
        "kw = {'device': 'cuda'}\ndef f(k=kw): k['device'] = 'cpu'\nx(f)\ntorch.zeros(1, **kw)"
    ),
    "dict in attr": "kw = {'device': 'cuda'}\nx.kw = kw\nx.go()\ntorch.zeros(1, **kw)",
    "dict stored subscr": "kw = {'device': 'cuda'}\nx['a'] = kw\nx.go()\ntorch.zeros(1, **kw)",
    "dict returned by nested": "kw = {'device': 'cuda'}\nx(lambda: kw)\ntorch.zeros(1, **kw)",
    "list handed": "ds = ['cuda']\nx(ds)\ntorch.zeros(1, device=ds[0])",
    "list handed method": "ds = ['cuda']\nx(ds.append)\ntorch.zeros(1, device=ds[-1])",
    "list handed iter": "ds = ['cuda']\nx.extend(ds)\nfor d in ds: torch.zeros(1, device=d)",
    "list star": "ds = ['cuda']\nx(*[ds])\ntorch.zeros(1, device=ds[0])",
    "list kw": "ds = ['cuda']\nx(a=ds)\ntorch.zeros(1, device=ds[0])",
    "list in tuple": "ds = ['cuda']\nx((1, ds))\ntorch.zeros(1, device=ds[0])",
    "list operator": "ds = ['cuda']\nx + ds\nx |= ds\ntorch.zeros(1, device=ds[0])",
    "list yield": (
        "def g():\n    ds = ['cuda']\n    yield ds\n    torch.zeros(1, device=ds[0])\nfor d in g(): x(d)"
    ),
    "with given": "ds = ['cuda']\nwith x(ds): torch.zeros(1, device=ds[0])",
    "context enters nonlocal": (
        "d = 'cuda'\ndef leave():\n    nonlocal d\n    d = 'cpu'\nwith x(leave): torch.zeros(1, device=d)"
    ),
    "nonlocal property": (
        "d = 'cuda'\n"
        "def leave():\n"
        "    nonlocal d\n"
        "    d = 'cpu'\n"
        "w = Worker(); w.cb = leave\n"
        "x(w)\n"
        "torch.zeros(1, device=d)"
    ),
    "setattr by name": (
        "setattr(x, 'cb', 1)\nCONFIG.device = 'cuda'\nx(CONFIG)\ntorch.zeros(1, device=CONFIG.device)"
    ),
    "own attr": "CONFIG.device = 'cuda'\nx()\ntorch.zeros(1, device=CONFIG.device)",
    "global set then unknown": "global OTHER\nOTHER = 'cuda'\nx()\ntorch.zeros(1, device=OTHER)",
    "global set then handed": ("global OTHER\nOTHER = 'cuda'\nx(change_other)\ntorch.zeros(1, device=OTHER)"),
    "module attr set then unknown": (
        "helper_of_strangers.D = 'cuda'\nx()\ntorch.zeros(1, device=helper_of_strangers.D)"
    ),
    "class attr set then unknown": "Config.device = 'cuda'\nx()\ntorch.zeros(1, device=Config.device)",
    "generator send": (
        "d = 'cuda'\n"
        "def gen():\n"
        "    nonlocal d\n"
        "    yield 1\n"
        "    d = 'cpu'\n"
        "x(gen())\n"
        "torch.zeros(1, device=d)"
    ),
    "await": (
        "d = 'cuda'\nasync def co():\n    nonlocal d\n    d = 'cpu'\nx(co())\ntorch.zeros(1, device=d)"
    ),
    "del nonlocal": (
        "used = True\n"
        "def leave():\n"
        "    nonlocal used\n"
        "    used = not used\n"
        "x(leave)\n"
        "if not used: return\n"
        "torch.cuda.synchronize()"
    ),
    "while nonlocal": (
        "done = False\n"
        "def leave():\n"
        "    nonlocal done\n"
        "    done = True\n"
        "x(leave)\n"
        "while not done:\n"
        "    torch.cuda.synchronize()"
    ),
    "helper hands on": (
        "def help(f): x(f)\n"
        "d = 'cuda'\n"
        "def leave():\n"
        "    nonlocal d\n"
        "    d = 'cpu'\n"
        "help(leave)\n"
        "torch.zeros(1, device=d)"
    ),
    "two levels": (
        "d = 'cuda'\n"
        "def outer():\n"
        "    def inner():\n"
        "        nonlocal d\n"
        "        d = 'cpu'\n"
        "    x(inner)\n"
        "outer()\n"
        "torch.zeros(1, device=d)"
    ),
    "memo": "def get(): return OTHER2\nget()\nx()\ntorch.zeros(1, device=get())",
    "memo2": "def get(): return OTHER2\na = get()\nx()\ntorch.zeros(1, device=get())",
    "helper unknown inside": "def run(): x()\ntorch.ones(1)\nrun()\ntorch.zeros(1, device=OTHER2)",
    "condition on written": "x()\nif FLAG: torch.cuda.synchronize()",
    "module attr": "x()\ntorch.zeros(1, device=helper_of_strangers.D)",
    "queue get": (
        "import queue\n"
        "q = queue.Queue()\n"
        "q.put(1)\n"
        "d='cuda'\n"
        "def leave():\n"
        "    nonlocal d\n"
        "    d='cpu'\n"
        "q.put(leave)\n"
        "x.drain(q)\n"
        "torch.zeros(1, device=d)"
    ),
    "comprehension": "ds = ['cuda']\n[x(ds) for _ in (1,)]\ntorch.zeros(1, device=ds[0])",
    "walrus": "x(ds := ['cuda'])\ntorch.zeros(1, device=ds[0])",
    "starstar": "kw = {'device': 'cuda'}\nx(**{'a': kw})\ntorch.zeros(1, **kw)",
    "default self": "w = Keeper('cuda')\nx.add(w)\nx.go()\ntorch.zeros(1, device=w.kept)",
    "set after handing": (
        "w = Keeper('cpu')\nx.add(w)\nw.kept = 'cuda'\nx.go()\ntorch.zeros(1, device=w.kept)"
    ),
    "try handler": (
        "d='cuda'\n"
        "def leave():\n"
        "    nonlocal d\n"
        "    d='cpu'\n"
        "try: x(leave)\n"
        "finally: pass\n"
        "torch.zeros(1, device=d)"
    ),
    "if both": (
        "d='cuda'\n"
        "def leave():\n"
        "    nonlocal d\n"
        "    d='cpu'\n"
        "if x.a: x(leave)\n"
        "else: pass\n"
        "torch.zeros(1, device=d)"
    ),
    "only else": (
        "d='cuda'\n"
        "def leave():\n"
        "    nonlocal d\n"
        "    d='cpu'\n"
        "if x.a: pass\n"
        "else: x(leave)\n"
        "torch.zeros(1, device=d)"
    ),
    "if global": "if x.a: pass\nelse: x()\ntorch.zeros(1, device=OTHER2)",
    "ifexp": "y = x() if x.a else 1\ntorch.zeros(1, device=OTHER2)",
    "and": "x.a and x()\ntorch.zeros(1, device=OTHER2)",
    "loop later": (
        "d='cuda'\n"
        "def leave():\n"
        "    nonlocal d\n"
        "    d='cpu'\n"
        "for i in x: x.y(leave)\n"
        "torch.zeros(1, device=d)"
    ),
    "while": "while x.more(): x.go()\ntorch.zeros(1, device=OTHER2)",
    "except": "try: int(x)\nexcept ValueError: x()\ntorch.zeros(1, device=OTHER2)",
    "match": "match x:\n    case 1: x.go()\ntorch.zeros(1, device=OTHER2)",
    "with exit": "with x.ctx(): pass\ntorch.zeros(1, device=OTHER2)",
}
CHANGED_IN_METHODS = {
    "self written": "x()\ntorch.zeros(1, device=self.device)",
    "self handed": "x(self)\ntorch.zeros(1, device=self.kept)",
    "self method handed": "x(self.helper)\ntorch.zeros(1, device=self.kept)",
    "setattr writer": "x()\ntorch.zeros(1, device=self.by_name)",
    "tuple writer": "x()\ntorch.zeros(1, device=self.by_several)",
    "for writer": "x()\ntorch.zeros(1, device=self.by_loop)",
    "class written": "x()\ntorch.zeros(1, device=self.kept3)",
}
KEPT = {
    "nonlocal not handed": (
        "used = True\ndef leave():\n    nonlocal used\n    used = False\nif used: torch.cuda.synchronize()"
    ),
    "read-only closure": "d = 'cuda'\nx(lambda: d)\ntorch.zeros(1, device=d)",
    "other closure": (
        "d = 'cuda'\ne = 1\ndef leave():\n    nonlocal e\n    e = 2\nx(leave)\ntorch.zeros(1, device=d)"
    ),
    "known call": (
        "d = 'cpu'\ndef leave():\n    nonlocal d\n    d = 'cuda'\nleave()\ntorch.zeros(1, device=d)"
    ),
    "unknown call": "d = 'cuda'\nx()\ntorch.zeros(1, device=d)",
    "list kept": "ds = ['cuda']\nx()\ntorch.zeros(1, device=ds[0])",
    "handed, set again": (
        "d = 'cuda'\ndef leave():\n    nonlocal d\n    d = 'cpu'\nx(leave)\ntorch.cuda.synchronize()"
    ),
    "print": "print(x)\nd='cuda'\nprint(d, x)\ntorch.zeros(1, device=d)",
    "own object": "w = Keeper('cuda')\nx()\ntorch.zeros(1, device=w.kept)",
    "global unwritten": "x()\ntorch.zeros(1, device=KEPT)",
    "loop": "for i in range(3):\n    x(i)\n    torch.zeros(1, device=KEPT)",
    "arith": "y = x * 2 + 1\ntorch.zeros(1, device=KEPT)",
    "dict literal kw": "kw = {'device': 'cuda'}\nx()\ntorch.zeros(1, **kw)",
}
KEPT_IN_METHODS = {
    "self kept over a log": "import logging\nlogging.info('x')\ntorch.zeros(1, device=self.kept)",
    "class kept over a call": "x.go(1)\ntorch.zeros(1, device=self.kept2)",
    "constant after handing self": "x(self)\ntorch.cuda.synchronize()",
    "own call": "self.helper(x)\ntorch.zeros(1, device=self.kept)",
    "an attribute that only its maker sets": "x()\ntorch.zeros(1, device=self.lasting)",
    "a lambda that reads nothing of it": "x(lambda: 1)\ntorch.zeros(1, device=self.lasting)",
}

_CALLED = re.compile(r"\bx(\.\w+)*\(")

CASES = [
    *((body, False, False) for body in CHANGED.values()),
    *((body, True, False) for body in CHANGED_IN_METHODS.values()),
    *((body, False, True) for body in KEPT.values()),
    *((body, True, True) for body in KEPT_IN_METHODS.values()),
]
NAMES = [*CHANGED, *CHANGED_IN_METHODS, *KEPT, *KEPT_IN_METHODS]
# Each is a question of a third of a second.
CHOSEN = range(0, len(CASES), step(3))


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("strangers")
    texts = [BEFORE]
    for number, (body, method, _) in enumerate(CASES):
        # Behind a call that may never come back nothing is certain anyway: these strangers are sure to.
        coming_back = _CALLED.sub("json.dumps(", body)
        inside = "\n".join(f"        {line}" for line in coming_back.splitlines())
        if method:
            texts.append(f"class K{number}(Keeper):\n    def body(self, x):\n{inside}\n")
            texts.append(f"body_{number} = K{number}('cuda').body\n")
        else:
            texts.append(f"def body_{number}(x):\n{inside}\n")
    beside = {"helper_of_strangers": HELPER}
    with loaded(folder, "made_of_strangers", "\n".join(texts), beside) as made:
        yield made


def touches(function: object) -> bool:
    """Whether a function is certain to touch cuda in a program that has these two modules."""
    (body,) = bodies.of_purpose("process", function)
    question = questions.question_of(body)
    assert question is not None
    for kind in ("modules", "classes"):
        question[kind] = {name: held for name, held in question[kind].items() if name in OWN}
    return bool(read_body(Question.read(json.loads(json.dumps(question)))).touches)


@pytest.mark.must_hold
@pytest.mark.parametrize("number", CHOSEN, ids=lambda number: NAMES[number])
def test_what_a_stranger_may_change_is_not_certain(module: ModuleType, number: int) -> None:
    *_, certain = CASES[number]
    assert touches(getattr(module, f"body_{number}")) == certain


@pytest.mark.parametrize(
    ("source", "written"),
    [
        ("def f(o):\n    o.a = 1", {"a"}),
        ("def f(o):\n    o.a.b: int = 1", {"b"}),
        ("def f(o):\n    o.a += o.b", {"a"}),
        ("def f(o):\n    o.a, o.b = 1, 2", {"a", "b"}),
        ("def f(o):\n    o.a = o.b = 2", {"a", "b"}),
        ("def f(o):\n    if o: o.a = 1", {"a"}),
        ("def f(o):\n    for o.a in o.b: pass", {"a"}),
        ("def f(o):\n    with o as o.a: pass", {"a"}),
        ("def f(o):\n    del o.a", {"a"}),
        ("def f(o):\n    setattr(o, 'a', 1)", {"a"}),
        ("def f(o, n):\n    setattr(o, n, 1)", {""}),
        ("def f(o):\n    object.__setattr__(o, 'a', 1)", {"a"}),
        ("def f(o):\n    return o.a == 1, o.b <= 2, o.c != 3, g(o.d, e=1), o.f", set()),
        ("class C:\n    def __init__(self, o):\n        self.a = 1\n        o.b = 2", {"b"}),
        ("class C:\n    def __init__(self):\n        setattr(self, 'a', 1)", set()),
        ("class C:\n    def __init__(self):\n      self.a = 1\n    def f(self):\n      self.b = 1", {"b"}),
    ],
)
def test_which_attributes_functions_write(source: str, written: set[str]) -> None:
    assert set(written_in(source.encode())) == written
