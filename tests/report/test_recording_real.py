"""Recordings of real programs, made by the real recorder: what they say and that everything shows them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from coldfork.model.states import Status
from coldfork.model.timelines import How, Recording
from coldfork.observe import bootstrap
from coldfork.report import formats
from coldfork.report.recordings.assembly import files
from coldfork.report.recordings.assembly.import_trees import walk
from coldfork.report.recordings.summary.outcomes import Standing, outcome
from coldfork.report.shared.options import Options

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks are what this is about")

Record = Callable[..., Recording]

FORKING = """
import os
import outer

child = os.fork()
if not child:
    import later
    raise SystemExit(3)
os.waitpid(child, 0)
"""

SERVING = """
import os
import engine

child = os.fork()
if not child:
    raise SystemExit(0)
os.waitpid(child, 0)
"""


CATCHING = SERVING.replace(
    "    raise SystemExit(0)",
    """\
    try:
        engine.backend.torch.cuda.current_device()
    except RuntimeError:
        raise SystemExit(0)
    raise SystemExit(1)""",
)
TOUCHING = SERVING.replace("    raise SystemExit(0)", "    engine.backend.torch.cuda.current_device()")


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """Run a program under the watch, in a folder with these modules, and read what was recorded."""

    def run(program: str, modules: Mapping[str, str], virtual: str = "", follow: bool = True) -> Recording:
        for name, source in {**modules, "program.py": program}.items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(source, encoding="utf-8")
        settings = {
            "mode": "run",
            "recording": str(tmp_path / "run.coldfork"),
            "follow": follow,
            "device": "none",
        }
        environment = bootstrap.environment(settings, os.environ)
        if virtual:
            environment["COLDFORK_VIRTUAL"] = virtual
        subprocess.run(
            [sys.executable, "program.py"],
            cwd=tmp_path,
            env=environment,
            check=True,
            timeout=120,
            capture_output=True,
        )
        recorded = tmp_path / "run.coldfork"
        try:
            return files.read(recorded)
        finally:
            recorded.unlink()

    return run


def show_everywhere(recording: Recording) -> None:
    for form in formats.FORMATS["recording"]:
        assert formats.renderer("recording", form)(recording, Options())
    for form in formats.FORMATS["difference"]:
        assert formats.renderer("difference", form)(recording, recording, Options())


def test_a_program_that_imports_and_forks(record: Record) -> None:
    modules = {"outer/__init__.py": "import outer.inner\n", "outer/inner.py": "", "later.py": ""}
    recording = record(FORKING, modules)
    assert (recording.damage.lines, recording.damage.foreign, recording.troubles) == (0, {}, ())
    parent, child = recording.processes
    assert (parent.how, child.how, child.parent) == (How.RUN, How.FORK, 0)
    (going,) = parent.departures
    assert going.site is not None
    assert (Path(going.site.path).name, going.site.line, going.child) == ("program.py", 5, 1)
    ours = [(span.module, depth) for span, depth in walk(parent.imports) if span.module.startswith("outer")]
    assert ours == [("outer", 0), ("outer.inner", 1)]
    assert [span.module for span, _ in walk(child.imports) if span.module == "later"] == ["later"]
    show_everywhere(recording)


def test_a_child_that_is_not_followed_is_known_from_its_parent(record: Record) -> None:
    recording = record(FORKING, {"outer/__init__.py": "", "later.py": ""}, follow=False)
    assert [process.watched for process in recording.processes] == [True, False]
    assert outcome(recording).standing is Standing.UNKNOWN
    show_everywhere(recording)


def test_a_real_torch_that_wakes_a_virtual_device_and_poisons_a_fork(record: Record) -> None:
    pytest.importorskip("torch")
    waking = "import torch\n\n\nclass Builder:\n    capability = torch.cuda.get_device_capability()\n"
    modules = {"engine/__init__.py": "from engine import backend\n", "engine/backend.py": waking}
    untouched = outcome(record(SERVING, modules, virtual="h100"))
    assert (untouched.standing, untouched.poisoned) == (Standing.WOKEN, ())
    forked = "1 process was forked with cuda: it fails if the child touches cuda, which was not seen"
    assert forked in untouched.notes
    caught = outcome(record(CATCHING, modules, virtual="h100"))
    assert (caught.standing, caught.poisoned) == (Standing.WOKEN, ())
    assert any("touched it at" in note and note.endswith("(exit 0)") for note in caught.notes), caught.notes
    recording = record(TOUCHING, modules, virtual="h100")
    found = outcome(recording)
    assert (found.standing, found.accelerator) == (Standing.POISONED, "cuda")
    assert found.wake is not None
    assert found.wake.waker is not None
    assert found.wake.waker.module == "engine.backend"
    assert [site.module for site in found.wake.waker.import_chain] == ["__main__", "engine", "engine.backend"]
    (child,) = found.poisoned
    assert child.last_states["cuda"].status is Status.POISONED
    show_everywhere(recording)
