"""A log without a story still ends with whose its last error is, and with one command."""

from __future__ import annotations

from pathlib import Path

import pytest

from coldfork.diagnose.anonymous import anonymous
from coldfork.diagnose.doctor import registry
from coldfork.model.diagnosis import Onward
from coldfork.observe.secrets.identities import Identity
from coldfork.report.explanations import markdown, text
from coldfork.report.shared.options import Options
from tests.diagnose.corpus import explained, unrelated
from tests.diagnose.running import only_story, raised

PACKAGE = 'File "/x/site-packages/vllm/worker.py", line 8, in load'


def way(log: str) -> Onward:
    """The way on from a log."""
    found = explained(log).onward
    assert found is not None
    return found


@pytest.mark.must_hold
def test_every_ordinary_failure_has_a_way_on() -> None:
    ways = {name: explained(said).onward for name, said in unrelated()}
    assert [name for name, found in ways.items() if found is None] == []
    known = {check for _, names in registry.GROUPS.values() for check in names}
    for found in ways.values():
        assert found is not None
        command, _, rest = found.next.removeprefix("coldfork ").partition(" ")
        assert command in ("doctor", "explain", "run", "check")
        assert command != "doctor" or set(rest.split()) <= known


@pytest.mark.parametrize(
    ("error", "command"),
    [
        (
            "RuntimeError: CUDA error: no kernel image is available for execution on the device",
            "torch driver",
        ),
        ("ImportError: libcudart.so.12: cannot open shared object file: No such file", "torch library-path"),
        ("OSError: [Errno 24] Too many open files: 'x'", "nofile"),
    ],
)
def test_what_a_check_answers_leads_to_that_check(error: str, command: str) -> None:
    assert way(raised(error, PACKAGE)).next == f"coldfork doctor {command}"


def test_the_last_error_is_the_programs_or_a_packages() -> None:
    assert "it is the program's own: /srv/train.py:3" in way(raised("KeyError: 'x'")).whose
    assert way(raised("KeyError: 'x'", PACKAGE)).whose.startswith("it is vllm's")
    assert way("all is well\n").whose == "no line of the log is an error"


def test_a_file_that_is_here_is_checked(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text("1 / 0\n", encoding="utf-8")
    assert way(raised("ZeroDivisionError: division by zero", f'File "{file}", line 1, in f')).next == (
        f"coldfork check {file}"
    )


def test_a_story_has_a_way_of_its_own() -> None:
    log = raised("RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error. It is possible")
    assert explained(log).onward is None
    assert only_story(log).next == "coldfork doctor dev-shm"


def test_the_text_ends_with_the_way_on() -> None:
    said = text.render(explained(raised("OSError: [Errno 24] Too many open files: 'x'")), Options())
    assert "\nnext: coldfork doctor nofile\n" in said


def test_a_bug_report_names_nobody() -> None:
    homes = (
        f'File "/{"home"}/alice/train.py", line 3, in f',
        f'File "C:\\{"Users"}\\bob\\lib.py", line 4, in g',
    )
    said = explained(raised("RuntimeError: CUDA error: invalid device ordinal", *homes))
    shown = markdown.render(anonymous(said, Identity(set(), set(), "/srv/nobody")), Options())
    assert "lib.py" in shown
    assert "alice" not in shown
    assert "bob" not in shown
