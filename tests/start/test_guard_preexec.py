"""Functions that a child runs before its program, in every shape in which they are handed over."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.start.guarding import needs_linux, told

pytestmark = [pytest.mark.once, needs_linux]

PROGRAM = """
import functools, json, os, resource, signal, subprocess, sys
import coldfork, coldfork.virtual
coldfork.virtual.install("h100")
import torch

class Engine:
    def bind(self): torch.cuda.set_device(0)
    def bind_if(self):
        if os.environ.get("NOBODY_SETS_THIS"): self.bind()
    def __call__(self): self.bind()

def through(engine): engine.bind()
def by_default(engine=Engine()): engine.bind()
def by_keyword(*, engine=Engine()): engine.bind()
def by_name(): globals()["engine"].bind()
def perhaps(engine): engine.bind_if()
def limit(core, name="ignored"): resource.setrlimit(resource.RLIMIT_CORE, (core, core))
def ignore(number=signal.SIGUSR1): signal.signal(number, signal.SIG_IGN)

engine = Engine()
TOUCHING = {
    "partial": functools.partial(through, Engine()),
    "partial by keyword": functools.partial(through, engine=Engine()),
    "default": by_default,
    "default of a keyword": by_keyword,
    "bound method": Engine().bind,
    "lambda": lambda: Engine().bind(),
    "object": Engine(),
}
PERHAPS = {"by name": by_name, "partial of a condition": functools.partial(perhaps, Engine())}
QUIET = {
    "partial": functools.partial(limit, 0),
    "partial by keyword": functools.partial(limit, core=0, name="other"),
    "default": ignore,
    "built-in": functools.partial(os.nice, 0),
}

def outcomes(several):
    found = {}
    for name, function in several.items():
        try:
            found[name] = subprocess.run(["true"], preexec_fn=function).returncode
        except RuntimeError:
            found[name] = "refused"
        except subprocess.SubprocessError:
            found[name] = "failed"
    return found

torch.cuda.init()
said = {}
for mode in ("strict", "raise"):
    with coldfork.guard(mode):
        kinds = {"touching": TOUCHING, "perhaps": PERHAPS, "quiet": QUIET}
        said[mode] = {kind: outcomes(several) for kind, several in kinds.items()}
print(json.dumps(said))
"""


@pytest.mark.must_hold
def test_what_it_is_handed_decides(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    modes = told(PROGRAM, tmp_path)
    for said in modes.values():
        assert said["touching"] == dict.fromkeys(said["touching"], "refused")
        assert said["quiet"] == dict.fromkeys(said["quiet"], 0)
    assert {mode: set(said["perhaps"].values()) for mode, said in modes.items()} == {
        "strict": {"refused"},
        "raise": {"failed", 0},
    }
